import { TRACEPARENT } from '../../core/values/text.ts'
import type { Chance } from '../../ports/machine.ts'

/** The id of the trace in a traceparent. Undefined when there is none. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  return TRACEPARENT.exec(traceparent ?? '')?.[1]
}

/** A traceparent of a new trace. */
export function newTraceparent(chance: Chance): string {
  return `00-${hex(chance, 32)}-${hex(chance, 16)}-01`
}

/** Random hexadecimal digits. The last digit is never 0, because an id of zeros only is invalid. */
function hex(chance: Chance, digits: number): string {
  const random = Array.from({ length: digits - 1 }, () => Math.floor(chance.fraction() * 16).toString(16))
  return `${random.join('')}${(1 + Math.floor(chance.fraction() * 15)).toString(16)}`
}

/** The fields of every log line about a head. */
export function logFields({ id, traceparent }: { readonly id: string; readonly traceparent?: string }): {
  taskId: string
  traceId: string | undefined
} {
  return { taskId: id, traceId: traceIdOf(traceparent) }
}
