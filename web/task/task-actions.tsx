import * as Menu from '@radix-ui/react-dropdown-menu'
import { useNavigate } from '@tanstack/react-router'
import { ChevronDown, Copy, Pencil, RotateCcw, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { RetryTaskBody } from '../../shared/api/changes.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { baton } from '../api/baton.ts'
import { useAction } from '../parts/action.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { isEnded } from '../parts/status.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { ChangeDialog } from './change-dialog.tsx'

type Asked = 'cancel' | 'remove' | 'change' | 'copy'

/** What can be done with a task in its present status. */
export function TaskActions({ task }: { readonly task: ApiTask }) {
  const [asked, setAsked] = useState<Asked>()
  const close = () => setAsked(undefined)
  const open = !isEnded(task.status)
  return (
    <>
      {!open && <Retry task={task} />}
      {open && (
        <>
          <Button onClick={() => setAsked('change')}>
            <Pencil size={14} aria-hidden /> Change
          </Button>
          <Button onClick={() => setAsked('cancel')}>
            <Square size={14} aria-hidden /> Cancel
          </Button>
        </>
      )}
      <Button onClick={() => setAsked('copy')}>
        <Copy size={14} aria-hidden /> Publish a copy
      </Button>
      <Button look="danger" onClick={() => setAsked('remove')} aria-label="Remove">
        <Trash2 size={14} aria-hidden />
      </Button>
      {asked === 'change' && <ChangeDialog task={task} onClose={close} />}
      {asked === 'copy' && <PublishDialog copyOf={task} onClose={close} />}
      {asked === 'cancel' && <Cancel task={task} onClose={close} />}
      {asked === 'remove' && <Remove task={task} onClose={close} />}
    </>
  )
}

type Way = { readonly title: string; readonly how: RetryTaskBody }

const START_OVER: Way = { title: 'Start over', how: {} }
const ONLY_FAILED: Way = { title: 'Run again only where it failed', how: { clean: ['failed'] } }

const FLOW_WAYS: readonly Way[] = [
  { title: 'Do the failed step again', how: { action: 'retry-do' } },
  { title: 'Undo the failed step again', how: { action: 'retry-undo' } },
  { title: 'Skip the failed undo', how: { action: 'skip-undo' } },
  { title: 'Go on: the step was repaired by hand', how: { action: 'continue' } },
]

const CALLBACKS: Way = { title: 'Publish the owed callbacks', how: { action: 'retry-callbacks' } }

function waysOf({ steps, status, concurrency, callbackProblems }: ApiTask): Way[] {
  return [
    START_OVER,
    ...(concurrency > 1 ? [ONLY_FAILED] : []),
    ...(steps && status === 'failed' ? FLOW_WAYS : []),
    ...(callbackProblems ? [CALLBACKS] : []),
  ]
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
      <Button look="accent" disabled={retry.isPending} onClick={() => retry.mutate({})}>
        <RotateCcw size={14} aria-hidden /> Retry
      </Button>
      {ways.length > 1 && (
        <Menu.Root modal={false}>
          <Menu.Trigger asChild>
            <Button look="accent" aria-label="Retry from where" disabled={retry.isPending}>
              <ChevronDown size={14} aria-hidden />
            </Button>
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
