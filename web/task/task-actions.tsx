import { useNavigate } from '@tanstack/react-router'
import { Copy, Pencil, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { PatchBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { queries, taskQuery } from '../api/queries.ts'
import { Button, InputField, Opener, useAction } from '../parts/controls.tsx'
import { AskedAction, FormDialog, type Stale } from '../parts/dialog.tsx'
import { isEnded } from '../parts/format.ts'
import { JsonField } from '../parts/json.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { Retry } from './retry.tsx'

export function TaskActions({ task }: { readonly task: ApiTask }) {
  const navigate = useNavigate()
  const [isChanging, setChanging] = useState(false)
  const { id, type, status, steps } = task
  const changes = [['task', id], ['tasks'], ['counts']]
  const cancel = (
    <>
      <p>It stops, and a running handler gets the signal to stop. Its record stays, and it can be retried.</p>
      {steps && <p>The steps that were done are undone, unless its type says that a cancel leaves them.</p>}
    </>
  )
  const isOpen = !isEnded(status)
  return (
    <>
      {!isOpen && <Retry task={task} changes={changes} />}
      {isOpen && <Button icon={Pencil} text="Change" onClick={() => setChanging(true)} />}
      {/* What is written in it stays when the task ends meanwhile. */}
      {isChanging && <ChangeDialog task={task} onClose={() => setChanging(false)} />}
      {isOpen && (
        <AskedAction
          icon={Square}
          text="Cancel"
          title="Cancel this task?"
          action="Cancel the task"
          question={cancel}
          run={() => baton.cancel(id)}
          done="The task was cancelled"
          changes={changes}
        />
      )}
      <Opener
        icon={Copy}
        text="Publish a copy"
        dialog={close => <PublishDialog copyOf={task} onClose={close} />}
      />
      <AskedAction
        look="danger"
        icon={Trash2}
        aria-label="Remove"
        title="Remove this task?"
        action="Remove"
        question="It never runs again, a running handler gets the signal to stop, and its record is deleted. This cannot be undone."
        run={() => baton.remove(id)}
        done="The task was removed"
        changes={[['tasks'], ['counts']]}
        after={() => void navigate({ to: '/tasks', search: { type: [type] } })}
      />
    </>
  )
}

type DialogProps = { readonly task: ApiTask; readonly onClose: () => void }

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
