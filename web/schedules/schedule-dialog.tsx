import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState } from 'react'
import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import { baton, isStale } from '../api/baton.ts'
import { queries, scheduleQuery, schedulesQuery } from '../api/queries.ts'
import { JsonDialog, JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import { useAction } from '../parts/action.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/notes.tsx'

const HINT =
  'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.'

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read when the dialog opens. */
export function EditSchedule({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { data: schedule, error, refetch } = useQuery(scheduleQuery(name))
  if (schedule) return <EditRead schedule={schedule} onClose={onClose} />
  if (!error) return null
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose}>
      <Failure error={error} onRetry={refetch} />
    </Dialog>
  )
}

function EditRead({ schedule, onClose }: { readonly schedule: ApiSchedule; readonly onClose: () => void }) {
  // That of the text: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(schedule)
  const put = usePut(schedule.name, `${schedule.name} was changed`, onClose)
  const startOver = async () => {
    setBegun(await queries.fetchQuery(scheduleQuery(schedule.name)))
    put.reset()
  }
  return (
    <JsonDialog
      key={begun.revision}
      stale={{ error: put.error, onStartOver: startOver }}
      title={`Edit ${schedule.name}`}
      label="Schedule"
      value={bodyOf(begun)}
      hint={HINT}
      isSending={put.isPending}
      onSave={body => put.mutate({ name: schedule.name, body: { ...body, ifRevision: begun.revision } })}
      onClose={onClose}
    />
  )
}

const EXAMPLE = { cron: '0 3 * * *', timezone: 'UTC', task: { type: '' } }

/** A schedule that does not exist has this revision, so a request that expects it replaces none. */
const ABSENT_REVISION = 0

/**
 * Creates a schedule. A name that is taken is refused: by the form if the list has it, else by the API, which may know of one that
 * another person has just created.
 */
export function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify({ ...EXAMPLE, task: { type } }, undefined, 2))
  const [name, setName] = useState('')
  const { data: schedules = [] } = useQuery(schedulesQuery)
  const [refused, setRefused] = useState<string>()
  const isTaken = name === refused || schedules.some(schedule => schedule.name === name)
  const put = usePut(name, 'The schedule was created', onClose, error => {
    if (isStale(error)) setRefused(name)
  })
  return (
    <FormDialog
      title="New schedule"
      action="Create"
      isReady={!put.isPending && !isTaken && jsonProblem(text) === undefined && text.trim() !== ''}
      onSubmit={() => {
        const body = { ...(jsonOf(text) as ScheduleBody), ifRevision: ABSENT_REVISION }
        put.mutate({ name, body })
      }}
      onClose={onClose}
    >
      <NameField
        name={name}
        onChange={setName}
        problem={isTaken ? `There is a schedule ${name} already. Edit it, or give another name.` : undefined}
      />
      <JsonField label="Schedule" text={text} onChange={setText} rows={9} hint={HINT} />
    </FormDialog>
  )
}

function NameField({
  name,
  onChange,
  problem,
}: {
  readonly name: string
  readonly onChange: (name: string) => void
  readonly problem: string | undefined
}) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.setCustomValidity(problem ?? ''), [problem])
  return (
    <div className="field">
      <label htmlFor={id}>Name</label>
      <input
        ref={input}
        id={id}
        required
        maxLength={200}
        autoComplete="off"
        value={name}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-note`}
        onChange={event => onChange(event.target.value)}
      />
      <p id={`${id}-note`} className="bad isolated">
        {problem}
      </p>
    </div>
  )
}

function usePut(name: string, done: string, onClose: () => void, onRefused?: (error: unknown) => void) {
  return useAction({
    run: ({ name, body }: { name: string; body: ScheduleBody }) => baton.putSchedule(name, body),
    done,
    changes: [['schedules'], ['schedule', name]],
    after: onClose,
    onRefused,
  })
}

/** The schedule in an answer, in the form in which a request gives it. */
function bodyOf({ cron, everyMs, at, timezone, missed, graceMs, task }: ApiSchedule): ScheduleBody {
  return {
    ...(cron !== undefined && { cron }),
    ...(everyMs !== undefined && { everyMs }),
    ...(at !== undefined && { at }),
    ...(cron !== undefined && timezone !== undefined && { timezone }),
    missed,
    graceMs,
    task,
  }
}
