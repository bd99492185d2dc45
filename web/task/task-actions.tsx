import * as Menu from '@radix-ui/react-dropdown-menu'
import { useNavigate } from '@tanstack/react-router'
import { ChevronDown, Copy, Pencil, RotateCcw, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { PatchBody, RetryTaskBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { queries, taskQuery } from '../api/queries.ts'
import { Button, InputField, useAction } from '../parts/controls.tsx'
import { Confirm, FormDialog, type Stale } from '../parts/dialog.tsx'
import { isEnded } from '../parts/format.ts'
import { JsonField } from '../parts/json.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'

type Asked = 'cancel' | 'remove' | 'change' | 'copy'

/** What can be done with a task in its present status. */
export function TaskActions({ task }: { readonly task: ApiTask }) {
  const [asked, setAsked] = useState<Asked>()
  const close = () => setAsked(undefined)
  const open = !isEnded(task.status)
  return (
    <>
      {!open && <Retry task={task} />}
      {open && <Button icon={Pencil} text="Change" onClick={() => setAsked('change')} />}
      {open && <Button icon={Square} text="Cancel" onClick={() => setAsked('cancel')} />}
      <Button icon={Copy} text="Publish a copy" onClick={() => setAsked('copy')} />
      <Button look="danger" icon={Trash2} aria-label="Remove" onClick={() => setAsked('remove')} />
      {asked === 'change' && <ChangeDialog task={task} onClose={close} />}
      {asked === 'copy' && <PublishDialog copyOf={task} onClose={close} />}
      {asked === 'cancel' && <Cancel task={task} onClose={close} />}
      {asked === 'remove' && <Remove task={task} onClose={close} />}
    </>
  )
}

type Way = { readonly title: string; readonly how: RetryTaskBody }

const FLOW_WAYS: readonly Way[] = [
  { title: 'Do the failed step again', how: { action: 'retry-do' } },
  { title: 'Undo the failed step again', how: { action: 'retry-undo' } },
  { title: 'Skip the failed undo', how: { action: 'skip-undo' } },
  { title: 'Go on: the step was repaired by hand', how: { action: 'continue' } },
]

function waysOf({ steps, status, concurrency, callbackProblems }: ApiTask): Way[] {
  const ways: Way[] = [{ title: 'Start over', how: {} }]
  if (concurrency > 1) ways.push({ title: 'Run again only where it failed', how: { clean: ['failed'] } })
  if (steps && status === 'failed') ways.push(...FLOW_WAYS)
  if (callbackProblems) ways.push({ title: 'Publish the owed callbacks', how: { action: 'retry-callbacks' } })
  return ways
}

function Retry({ task }: { readonly task: ApiTask }) {
  const retry = useAction({
    run: (how: RetryTaskBody) => baton.retry(task.id, how),
    done: 'The task goes on',
    changes: changesOf(task),
  })
  const ways = waysOf(task)
  return (
    <span className="button-pair">
      <Button
        look="accent"
        icon={RotateCcw}
        text="Retry"
        disabled={retry.isPending}
        onClick={() => retry.mutate({})}
      />
      {ways.length > 1 && (
        <Menu.Root modal={false}>
          <Menu.Trigger asChild>
            <Button
              look="accent"
              icon={ChevronDown}
              aria-label="Retry from where"
              disabled={retry.isPending}
            />
          </Menu.Trigger>
          <Menu.Portal>
            <Menu.Content className="menu" align="end" sideOffset={6}>
              {ways.map(({ title, how }) => (
                <Menu.Item key={title} className="menu-item" onSelect={() => retry.mutate(how)}>
                  {title}
                </Menu.Item>
              ))}
            </Menu.Content>
          </Menu.Portal>
        </Menu.Root>
      )}
    </span>
  )
}

type Asking = { readonly task: ApiTask; readonly onClose: () => void }

function Cancel({ task, onClose }: Asking) {
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
      <p>It stops, and a running handler is told to. Its record stays, and it can be retried.</p>
    </Confirm>
  )
}

function Remove({ task, onClose }: Asking) {
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
        It never runs again, a running handler is told to stop, and its record is deleted. This cannot be
        undone.
      </p>
    </Confirm>
  )
}

function changesOf({ id }: ApiTask) {
  return [['task', id], ['tasks'], ['counts']]
}

/** Changes an open task. Only what differs is sent. */
function ChangeDialog({ task, onClose }: Asking) {
  // That of the task as the reader saw it: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(task)
  const startOver = async () => setBegun(await queries.fetchQuery({ ...taskQuery(task.id), staleTime: 0 }))
  return <ChangeForm key={begun.revision} task={begun} onStartOver={startOver} onClose={onClose} />
}

type ChangeFormProps = Asking & Pick<Stale, 'onStartOver'>

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
