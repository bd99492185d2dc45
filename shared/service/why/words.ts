import type { WhyFacts } from '../../core/status.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'

/** What the sentences of this room are made of: their facts, and times, counts, lists and errors as text. */

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** A sentence names at most this many ids, and counts the others. */
const NAMES_MAX = 3
/** Characters of an error's message in a sentence. `GET` of the task shows the whole error. */
const MESSAGE_CHARACTERS_MAX = 120

/** The time in UTC to the second, and how far it is from now: `2026-11-23 14:02:07 UTC (in 5 min)`. */
export function timeText(time: number, now: number): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return 'an unknown time'
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC (${distance(time - now)})`
}

function distance(ms: number): string {
  const length = spanText(Math.abs(ms))
  if (Math.abs(ms) < SECOND_MS) return 'now'
  return ms > 0 ? `in ${length}` : `${length} ago`
}

/** A length of time in its largest whole unit: `90 s`, `5 min`, `20 h`, `3 days`. */
export function spanText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`
  return `${Math.round(ms / DAY_MS)} days`
}

export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

/** Up to three names, and how many more there are: `a, b, c and 4 more`. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX)
  const rest = names.length - shown.length
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ')
}

/** The name and the beginning of the message of an error, on one line. */
export function errorText({ name, message }: TaskError): string {
  const line = message.replace(/\s+/g, ' ').trim()
  const shown = line.length > MESSAGE_CHARACTERS_MAX ? `${line.slice(0, MESSAGE_CHARACTERS_MAX - 1)}…` : line
  return `${name}: ${shown.toWellFormed()}`
}

/** The facts of a sentence, and the path of the task in the API, for the next step. */
export type SentenceFacts = WhyFacts & { readonly path: string }

export type WhyLimit = {
  readonly kind: 'rate' | 'concurrency'
  readonly name: string
  readonly max?: number
  readonly perMs?: number
  readonly held?: number
  /** The holders of permits, longest first. */
  readonly holders?: ReadonlyArray<{ readonly taskId: string; readonly since: number }>
}

/** The sentence about a task, what a caller can do, and the facts in it. Times are milliseconds since the epoch. */
export type Explained = {
  readonly sentence: string
  readonly next: string
  readonly since?: number
  readonly until?: number
  readonly limit?: WhyLimit
  readonly holder?: string
  readonly queue?: {
    readonly type: string
    readonly messages?: number
    readonly oldestDueAt?: number
    readonly before?: number
  }
  readonly lastWorkerSeenAt?: number
  readonly log?: string
  readonly deadLetterId?: string
}
