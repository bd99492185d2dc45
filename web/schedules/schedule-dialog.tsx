import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import { baton } from '../api/baton.ts'
import { scheduleQuery } from '../api/queries.ts'
import { JsonDialog } from '../json/json-dialog.tsx'
import { JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import { useAction } from '../parts/action.ts'
import { FormDialog } from '../parts/dialog.tsx'

const HINT =
  'One of cron, everyMs and at; timezone, missed and graceMs may be left out. task is what each tick publishes.'

/** Replaces a schedule. The list of schedules shows only the type of the task, so the whole one is read first. */
export function EditSchedule({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const { data: schedule } = useQuery(scheduleQuery(name))
  return schedule ? <EditRead schedule={schedule} onClose={onClose} /> : null
}

function EditRead({ schedule, onClose }: { readonly schedule: ApiSchedule; readonly onClose: () => void }) {
  // That of the text: what another person changes meanwhile is not overwritten.
  const [revision] = useState(schedule.revision)
  const put = usePut(schedule.name, `${schedule.name} was changed`, onClose)
  return (
    <JsonDialog
      title={`Edit ${schedule.name}`}
      label="Schedule"
      value={bodyOf(schedule)}
      hint={HINT}
      isSending={put.isPending}
      onSave={body => put.mutate({ name: schedule.name, body: { ...body, ifRevision: revision } })}
      onClose={onClose}
    />
  )
}

const EXAMPLE = { cron: '0 3 * * *', timezone: 'UTC', task: { type: '' } }

/** Creates a schedule. */
export function NewSchedule({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify({ ...EXAMPLE, task: { type } }, undefined, 2))
  const put = usePut('', 'The schedule was created', onClose)
  return (
    <FormDialog
      title="New schedule"
      action="Create"
      isReady={!put.isPending && jsonProblem(text) === undefined && text.trim() !== ''}
      onSubmit={form => put.mutate({ name: String(form.get('name')), body: jsonOf(text) as ScheduleBody })}
      onClose={onClose}
    >
      <label className="field">
        Name
        <input name="name" required maxLength={200} autoComplete="off" />
      </label>
      <JsonField label="Schedule" text={text} onChange={setText} rows={9} hint={HINT} />
    </FormDialog>
  )
}

function usePut(name: string, done: string, onClose: () => void) {
  return useAction({
    run: ({ name, body }: { name: string; body: ScheduleBody }) => baton.putSchedule(name, body),
    done,
    changes: [['schedules'], ['schedule', name]],
    after: onClose,
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
