import { TRACEPARENT } from '../../core/rules/scalars.ts'
import type { Task } from '../../core/task/task.ts'
import type { Chance } from '../../ports/machine.ts'

/** The trace a task was published under; undefined when it has none. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  return TRACEPARENT.exec(traceparent ?? '')?.[1]
}

/** A trace that begins here. */
export function newTraceparent(chance: Chance): string {
  return `00-${hex(chance, 32)}-${hex(chance, 16)}-01`
}

/** The last digit is never 0, since all zeros are no id. */
function hex(chance: Chance, digits: number): string {
  const random = Array.from({ length: digits - 1 }, () => Math.floor(chance.fraction() * 16).toString(16))
  return `${random.join('')}${(1 + Math.floor(chance.fraction() * 15)).toString(16)}`
}

/** What every log line about a task carries. */
export function logFields({ id, traceparent }: Pick<Task, 'id' | 'traceparent'>): {
  taskId: string
  traceId: string | undefined
} {
  return { taskId: id, traceId: traceIdOf(traceparent) }
}
