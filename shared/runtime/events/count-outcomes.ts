import type { EventType } from '../../core/events/event-types.ts'
import { eventsOf } from '../../core/events/events.ts'
import { failuresOf } from '../../core/task/attempts.ts'
import type { Task } from '../../core/task/task.ts'
import type { Log, MetricName, Metrics } from '../../ports/machine.ts'

type Change = { readonly task: Task; readonly position: string }
type Counting = { readonly metrics: Metrics; readonly log: Log }

/** What each event counts as. All of it follows from the one change that tells it. */
const COUNTED: Partial<Record<EventType, MetricName>> = {
  'task.published': 'Published',
  'task.succeeded': 'Succeeded',
  'task.failed': 'Failed',
  'task.needs-attention': 'NeedsAttention',
}

/** A batch of the stream: the positions of all its records in their order, and of those that must come again. */
type Batch = { readonly positions: readonly string[]; readonly failed: readonly string[] }

/**
 * Counts what became of tasks, from the changes in the table's stream: it has every change, whichever process wrote it. Lambda delivers a
 * batch again from its first failed record on, so only what stands before that counts now, and the rest counts when it comes
 * again: each change counts once, however often its batch comes. A process that dies after it has written its metrics and before
 * Lambda has its answer is the one exception: its batch counts twice.
 */
export function countOutcomes(
  { metrics, log }: Counting,
  changes: readonly Change[],
  { positions, failed }: Batch,
): void {
  const first = positions.findIndex(position => failed.includes(position))
  const done = new Set(first < 0 ? positions : positions.slice(0, first))
  for (const { task, position } of changes) {
    if (!done.has(position)) continue
    try {
      for (const name of countsOf(task)) metrics.add(name, 1, task.type)
    } catch (error) {
      log.error('not counted: a change that cannot be read', { error, taskId: task.id })
    }
  }
}

/** What a change of a task counts as. */
function countsOf(task: Task): MetricName[] {
  const counted = eventsOf(task).flatMap(({ type }) => COUNTED[type] ?? [])
  return isRetry(task) ? [...counted, 'Retried'] : counted
}

/** A claim begins exactly one run. It is a retry if one of the same piece has failed or was lost before, by that budget's count. */
function isRetry(task: Task): boolean {
  const run = task.operation === 'claim' ? task.live[task.fence] : undefined
  if (!run) return false
  const { scope } = task.options.retry
  return (scope === 'worker' ? failuresOf(task, run.workerId) : task.failures) > 0
}
