import { useState } from 'react'
import type { PatchBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { queries, taskQuery } from '../api/queries.ts'
import { JsonField, jsonOf, jsonProblem } from '../json/json-field.tsx'
import { useAction } from '../parts/action.tsx'
import { FormDialog, type Stale } from '../parts/dialog.tsx'

/** Changes an open task. Only what differs is sent. */
export function ChangeDialog({ task, onClose }: { readonly task: ApiTask; readonly onClose: () => void }) {
  // That of the task as the reader saw it: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(task)
  const startOver = async () => setBegun(await queries.fetchQuery({ ...taskQuery(task.id), staleTime: 0 }))
  return <ChangeForm key={begun.revision} task={begun} onStartOver={startOver} onClose={onClose} />
}

function ChangeForm({
  task,
  onStartOver,
  onClose,
}: {
  readonly task: ApiTask
  readonly onStartOver: Stale['onStartOver']
  readonly onClose: () => void
}) {
  const [priority, setPriority] = useState(String(task.priority))
  const [due, setDue] = useState(localTime(task.dueAt))
  const [options, setOptions] = useState('{}')
  const change = useAction({
    run: (patch: PatchBody) => baton.patch(task.id, patch),
    done: 'The task was changed',
    changes: [['task', task.id], ['tasks']],
    after: onClose,
  })
  const submit = () =>
    change.mutate({
      ifRevision: task.revision,
      ...(Number(priority) !== task.priority && { priority: Number(priority) }),
      ...(due !== localTime(task.dueAt) && due !== '' && { dueAt: new Date(due).toISOString() }),
      ...(jsonOf(options) as PatchBody | undefined),
    })
  return (
    <FormDialog
      title="Change the task"
      look="middle"
      action="Change"
      refusal="Keep as it is"
      isReady={!change.isPending && jsonProblem(options) === undefined}
      stale={{ error: change.error, onStartOver }}
      onSubmit={submit}
      onClose={onClose}
    >
      <div className="field-row">
        <Field label="Priority" type="number" value={priority} onChange={setPriority} required />
        <Field label="Due" type="datetime-local" value={due} onChange={setDue} />
      </div>
      <JsonField
        label="Other fields"
        text={options}
        onChange={setOptions}
        rows={6}
        hint='For example {"timeoutMs": 60000, "tags": {"team": "video"}}; null returns an option to its default.'
      />
    </FormDialog>
  )
}

function Field({
  label,
  onChange,
  ...input
}: {
  readonly label: string
  readonly type: 'number' | 'datetime-local'
  readonly value: string
  readonly onChange: (value: string) => void
  readonly required?: boolean
}) {
  return (
    <label className="field">
      {label}
      <input {...input} step={1} onChange={event => onChange(event.target.value)} />
    </label>
  )
}

/** The time as the browser's field for times takes it: in the reader's time zone, to the second. */
function localTime(at: string): string {
  const date = new Date(at)
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}
