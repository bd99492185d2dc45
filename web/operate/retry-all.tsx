import { useQuery } from '@tanstack/react-query'
import { RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { baton } from '../api/baton.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { counted, moment, visible } from '../parts/format.ts'
import { Failure } from '../parts/notes.tsx'
import { type BulkTask, startBulk } from '../tasks/bulk.ts'
import type { TasksOfGroup } from './searched-part.ts'

const PAGE_MAX = 100

/** Retries the failed tasks of a group. The reader is first told which and how many these are. */
export function RetryAll({ tasks }: { readonly tasks: TasksOfGroup }) {
  const [isAsked, setAsked] = useState(false)
  return (
    <span className="cell-actions">
      <Button onClick={() => setAsked(true)}>
        <RotateCcw size={14} aria-hidden /> Retry all
      </Button>
      {isAsked && <Asking tasks={tasks} onClose={() => setAsked(false)} />}
    </span>
  )
}

function Asking({ tasks, onClose }: { readonly tasks: TasksOfGroup; readonly onClose: () => void }) {
  const { data: page, error } = useQuery({
    queryKey: ['failed-tasks', tasks],
    queryFn: () => baton.listPage({ ...tasks, limit: PAGE_MAX }),
    gcTime: 0,
  })
  const found = page?.items.length ?? 0
  const isNone = found === 0 && page?.nextCursor === undefined
  return (
    <Confirm
      title="Retry the failed tasks?"
      action="Retry"
      isReady={page !== undefined && !isNone}
      onConfirm={() =>
        void startBulk({
          verb: 'Retry',
          tasks: failed(tasks),
          run: (id, expected) => baton.retry(id, expected),
          isHarmless: true,
        })
      }
      onClose={onClose}
    >
      <p className="isolated">
        All tasks of {tasks.type} that failed since {moment(tasks.since)} and whose error contains “
        {visible(tasks.error)}” start over, with a fresh retry budget. Tasks of other groups whose error
        contains it are among them.
      </p>
      <p className="soft">
        The group also counts failed runs. Tasks that run again or have succeeded since are not retried, and a
        task that a person changes meanwhile is left as it is.
      </p>
      <p role="status">{error ? null : page ? foundText(found, page.nextCursor, isNone) : 'Counting …'}</p>
      {error && <Failure error={error} />}
    </Confirm>
  )
}

function foundText(found: number, nextCursor: string | undefined, isNone: boolean): string {
  if (isNone) return 'No task has failed so for good: there is nothing to retry.'
  return nextCursor === undefined
    ? `${counted(found, 'task')} at present.`
    : `More than ${counted(found, 'task')} at present.`
}

/** The tasks, those that ended last first: a task that fails again meanwhile is not met again. */
async function* failed(tasks: TasksOfGroup): AsyncGenerator<BulkTask, void, undefined> {
  for await (const { id, revision } of baton.list({ ...tasks, limit: PAGE_MAX })) yield { id, revision }
}
