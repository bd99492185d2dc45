import type { Task } from '../core/task.ts'
import { traceIdOf } from './traceparent.ts'

/** What every log line about a task carries. */
export function logFields({ id, traceparent }: Pick<Task, 'id' | 'traceparent'>): {
  taskId: string
  traceId: string | undefined
} {
  return { taskId: id, traceId: traceIdOf(traceparent) }
}
