import { useNavigate } from '@tanstack/react-router'
import { Copy, Pencil, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { PatchBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { queries, taskQuery } from '../api/queries.ts'
import { Button, InputField, useAction } from '../parts/controls.tsx'
import { Confirm, FormDialog, type Stale } from '../parts/dialog.tsx'
import { isEnded } from '../parts/format.ts'
import { JsonField } from '../parts/json.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { Retry } from './retry.tsx'

type OpenDialog = 'cancel' | 'remove' | 'change' | 'copy'

/** What can be done with a task in its present status. */
export function TaskActions({ task }: { readonly task: ApiTask }) {
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  const open = !isEnded(task.status)
  return (
    <>
      {!open && <Retry task={task} changes={changesOf(task)} />}
      {open && <Button icon={Pencil} text="Change" onClick={() => setDialog('change')} />}
      {open && <Button icon={Square} text="Cancel" onClick={() => setDialog('cancel')} />}
      <Button icon={Copy} text="Publish a copy" onClick={() => setDialog('copy')} />
      <Button look="danger" icon={Trash2} aria-label="Remove" onClick={() => setDialog('remove')} />
      {dialog === 'change' && <ChangeDialog task={task} onClose={close} />}
      {dialog === 'copy' && <PublishDialog copyOf={task} onClose={close} />}
      {dialog === 'cancel' && <Cancel task={task} onClose={close} />}
      {dialog === 'remove' && <Remove task={task} onClose={close} />}
    </>
  )
}

type DialogProps = { readonly task: ApiTask; readonly onClose: () => void }

function Cancel({ task, onClose }: DialogProps) {
  const cancel = useAction({
    run: () => baton.cancel(task.id),
    done: 'The task was cancelled',
    changes: changesOf(task),
  })
  return (
    <Confirm
      title="Cancel this task?"
      action="Cancel the task"
      onConfirm={() => cancel.mutate()}
      onClose={onClose}
    >
      <p>It stops, and a running handler gets the signal to stop. Its record stays, and it can be retried.</p>
      {task.steps && (
        <p>The steps that were done are undone, unless its type says that a cancel leaves them.</p>
      )}
    </Confirm>
  )
}

function Remove({ task, onClose }: DialogProps) {
  const navigate = useNavigate()
  const remove = useAction({
    run: () => baton.remove(task.id),
    done: 'The task was removed',
    changes: [['tasks'], ['counts']],
    after: () => void navigate({ to: '/tasks', search: { type: [task.type] } }),
  })
  return (
    <Confirm
      title="Remove this task?"
      action="Remove"
      isDanger
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        It never runs again, a running handler gets the signal to stop, and its record is deleted. This cannot
        be undone.
      </p>
    </Confirm>
  )
}

function changesOf({ id }: ApiTask) {
  return [['task', id], ['tasks'], ['counts']]
}

/** Changes an open task. Only what differs is sent. */
function ChangeDialog({ task, onClose }: DialogProps) {
  // The revision of the task as the reader saw it: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(task)
  const startOver = async () => setBegun(await queries.fetchQuery({ ...taskQuery(task.id), staleTime: 0 }))
  return <ChangeForm key={begun.revision} task={begun} onStartOver={startOver} onClose={onClose} />
}

type ChangeFormProps = DialogProps & Pick<Stale, 'onStartOver'>

function ChangeForm({ task, onStartOver, onClose }: ChangeFormProps) {
  const [priority, setPriority] = useState(String(task.priority))
  const [due, setDue] = useState(localTime(task.dueAt))
  const [options, setOptions] = useState<PatchBody | undefined>({})
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
      ...options,
    })
  return (
    <FormDialog
      title="Change the task"
      look="middle"
      action="Change"
      refusal="Keep as it is"
      isReady={!change.isPending}
      stale={{ error: change.error, onStartOver }}
      onSubmit={submit}
      onClose={onClose}
    >
      <div className="field-row">
        <InputField
          label="Priority"
          type="number"
          step={1}
          required
          value={priority}
          onChange={({ target }) => setPriority(target.value)}
        />
        <InputField
          label="Due"
          type="datetime-local"
          step={1}
          value={due}
          onChange={({ target }) => setDue(target.value)}
        />
      </div>
      <JsonField
        label="Other fields"
        first={options}
        onChange={setOptions}
        rows={6}
        hint='For example {"timeoutMs": 60000, "tags": {"team": "video"}}; null returns an option to its default.'
      />
    </FormDialog>
  )
}

/** The time as the browser's field for times takes it: in the reader's time zone, to the second. */
function localTime(at: string): string {
  const date = new Date(at)
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}
