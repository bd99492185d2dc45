import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState } from 'react'
import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import { baton, isStale } from '../api/baton.ts'
import { queries, scheduleQuery, schedulesQuery } from '../api/queries.ts'
import { useAction } from '../parts/action.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { EditDialog, JsonField } from '../parts/json.tsx'
import { Failure } from '../parts/page.tsx'

const HINT =
  'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.'

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read when the dialog opens. */
export function EditSchedule({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { data: schedule, error, refetch } = useQuery(scheduleQuery(name))
  if (schedule)
    return (
      <EditDialog
        thing={schedule}
        readAgain={() => queries.fetchQuery(scheduleQuery(name))}
        title={`Edit ${name}`}
        label="Schedule"
        hint={HINT}
        bodyOf={bodyOf}
        run={body => baton.putSchedule(name, body)}
        done={`${name} was changed`}
        changes={changesOf(name)}
        onClose={onClose}
      />
    )
  if (!error) return null
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose}>
      <Failure error={error} onRetry={refetch} />
    </Dialog>
  )
}

const EXAMPLE = { cron: '0 3 * * *', timezone: 'UTC' }

/** A schedule that does not exist has this revision, so a request that expects it replaces none. */
const ABSENT_REVISION = 0

/**
 * Creates a schedule. A name that is taken is refused: by the form if the list has it, else by the API, which may know of one that
 * another person has just created.
 */
export function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const [body, setBody] = useState<ScheduleBody | undefined>({ ...EXAMPLE, task: { type } })
  const [name, setName] = useState('')
  const { data: schedules = [] } = useQuery(schedulesQuery)
  const [refused, setRefused] = useState<string>()
  const isTaken = name === refused || schedules.some(schedule => schedule.name === name)
  const put = useAction({
    run: (body: ScheduleBody) => baton.putSchedule(name, { ...body, ifRevision: ABSENT_REVISION }),
    done: 'The schedule was created',
    changes: changesOf(name),
    after: onClose,
    onRefused: error => {
      if (isStale(error)) setRefused(name)
    },
  })
  return (
    <FormDialog
      title="New schedule"
      action="Create"
      isReady={!put.isPending && !isTaken && body !== undefined}
      onSubmit={() => body !== undefined && put.mutate(body)}
      onClose={onClose}
    >
      <NameField
        name={name}
        onChange={setName}
        problem={isTaken ? `There is a schedule ${name} already. Edit it, or give another name.` : undefined}
      />
      <JsonField label="Schedule" first={body} onChange={setBody} rows={9} hint={HINT} />
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

function changesOf(name: string) {
  return [['schedules'], ['schedule', name]]
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
