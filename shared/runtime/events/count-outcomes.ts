import type { EventType } from '../../core/events/event-types.ts'
import { eventsOf } from '../../core/events/events.ts'
import { failuresOf } from '../../core/task/attempts.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import type { Log, MetricName, Metrics } from '../../ports/machine.ts'
import { type Batch, countableChanges } from '../stream/countable-changes.ts'

type Change = { readonly task: Head; readonly position: string }
type Outputs = { readonly metrics: Metrics; readonly log: Log }

/** The metric that each event counts as. It follows from the one change that causes the event. */
const METRIC_OF_EVENT: Partial<Record<EventType, MetricName>> = {
  'task.published': 'Published',
  'task.succeeded': 'Succeeded',
  'task.failed': 'Failed',
  'task.needs-attention': 'NeedsAttention',
}

/**
 * Counts the outcomes of tasks from the changes in the table's stream, which has every change, whichever process
 * wrote it.
 *
 * Lambda delivers a batch again from its first failed record on. So only the records before that one count now, and
 * the rest counts at a later delivery. Each change counts once, however often its batch is delivered. There is one
 * exception: the batch counts twice if the process dies after it has written its metrics and before Lambda has its
 * answer.
 */
export function countOutcomes({ metrics, log }: Outputs, changes: readonly Change[], batch: Batch): void {
  for (const { task } of countableChanges(changes, batch)) {
    try {
      for (const name of metricsOf(task)) metrics.add(name, 1, task.type)
    } catch (error) {
      log.error('a change cannot be read, so it is not counted', { error, taskId: task.id })
    }
  }
}

/** The metrics that a change of a task counts as. */
function metricsOf(task: Head): MetricName[] {
  const counted = eventsOf(task).flatMap(({ type }) => METRIC_OF_EVENT[type] ?? [])
  return isTask(task) && isRetry(task) ? [...counted, 'Retried'] : counted
}

/**
 * Whether a change begins a retry. A claim begins exactly one run; it is a retry if the retry budget of its
 * piece counts an earlier failed or lost run.
 */
function isRetry(task: Task): boolean {
  const run = task.operation === 'claim' ? task.live[task.fence] : undefined
  if (!run) return false
  const { scope } = task.options.retry
  return (scope === 'worker' ? failuresOf(task, run.workerId) : task.failures) > 0
}
