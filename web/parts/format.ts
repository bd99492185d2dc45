import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { ApiRun, ApiStep, ApiTask } from '../../shared/api/tasks.ts'
import { COUNTED_MAX } from '../api/paces.ts'

/** Numbers, durations, texts and states as readers see them. */

const NUMBER = new Intl.NumberFormat('en')
const SHORT_NUMBER = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

export function number(value: number): string {
  return value < 100_000 ? NUMBER.format(value) : SHORT_NUMBER.format(value)
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : plural}`
}

/** A count that stops at `COUNTED_MAX`: `1,000+` means this many or more. */
export function countText(count: number): string {
  return sumText([Math.min(count, COUNTED_MAX)])
}

/** The sum of counts, some of which may have stopped at `COUNTED_MAX`. */
export function sumText(counts: readonly number[]): string {
  const sum = counts.reduce((total, count) => total + count, 0)
  return counts.some(count => count >= COUNTED_MAX) ? `${number(sum)}+` : number(sum)
}

/** A number per minute: `0.4`, `12`, `1,204`. */
export function rate(value: number): string {
  return value < 10 ? String(Number(value.toFixed(1))) : number(Math.round(value))
}

/** `$0.0042`, `$1.27`, `$1,204` */
export function usd(value: number): string {
  if (value >= 100) return `$${NUMBER.format(Math.round(value))}`
  return value >= 0.01 || value === 0
    ? `$${value.toFixed(2)}`
    : `$${Number(value.toPrecision(2)).toFixed(decimals(value))}`
}

/** So many decimals that two digits of a small number show. */
function decimals(value: number): number {
  return Math.min(8, 1 - Math.floor(Math.log10(value)))
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['min', MINUTE],
  ['s', SECOND],
  ['ms', 1],
] as const

/** `340 ms`, `1.2 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`. Its spaces do not break, so it is always on one line. */
export function duration(ms: number): string {
  return lengthText(Math.abs(ms)).replaceAll(' ', '\u00a0')
}

function lengthText(size: number): string {
  if (size < SECOND) return `${Math.round(size)} ms`
  if (size < 10 * SECOND) return `${Number((size / SECOND).toFixed(1))} s`
  return size < MINUTE ? `${Math.round(size / SECOND)} s` : spanText(size, 2)
}

/** A span to the millisecond, or to so many units from the largest on: `1 min 30 s`. */
export function spanText(ms: number, unitsMax: number = UNITS.length): string {
  const first = UNITS.findIndex(([, size]) => ms >= size)
  const parts: string[] = []
  let rest = ms
  for (const [unit, size] of UNITS.slice(first, first + unitsMax)) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`)
    rest %= size
  }
  return parts.join(' ') || '0 s'
}

/** `in 12 s`, `3 min ago`, `now`. */
export function relative(at: string, now: number): string {
  const away = Date.parse(at) - now
  const size = Math.abs(away)
  if (size < SECOND) return 'now'
  return away > 0 ? `in ${spanText(size, 1)}` : `${spanText(size, 1)} ago`
}

/** A time of day to the second. */
export const SECONDS = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
const DATE = { year: 'numeric', month: 'short', day: 'numeric' } as const

const MOMENT = new Intl.DateTimeFormat('en-GB', { ...DATE, ...SECONDS, timeZoneName: 'short' })
const CLOCK = new Intl.DateTimeFormat('en-GB', SECONDS)
const DATE_AND_CLOCK = new Intl.DateTimeFormat('en-GB', { ...DATE, ...SECONDS })

/** The whole time in the reader's time zone. */
export function moment(at: string): string {
  return MOMENT.format(new Date(at))
}

/** The exact time, in the reader's time zone and in UTC: `23 Nov 2026, 15:02:07 CET · 2026-11-23T14:02:07.120Z`. */
export function exactTime(at: string): string {
  return `${moment(at)} · ${new Date(at).toISOString()}`
}

/** The local time: `14:03:09`, and on another day `22 Nov 2026, 14:03:09`. */
export function localTime(at: string, now: number): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date(now).toDateString()
  return (isToday ? CLOCK : DATE_AND_CLOCK).format(date)
}

export function bytes(length: number): string {
  if (length < 1_000) return `${length} B`
  return length < 1_000_000 ? `${(length / 1_000).toFixed(0)} KB` : `${(length / 1_000_000).toFixed(1)} MB`
}

/** Characters that change the direction of text, or that are invisible. They can make one id look like another. */
const UNSEEN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu

/** The text with unseen characters written out, such as `\u202e`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, one => `\\u${one.codePointAt(0)?.toString(16).padStart(4, '0')}`)
}

/** Whether a text has all of these words, or parts of words. */
export function hasWords(text: string, words: string): boolean {
  const lower = text.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => lower.includes(word))
}

const CUT_MARK = '…'

export function cut(text: string, charactersMax: number): string {
  return text.length > charactersMax ? text.slice(0, charactersMax) + CUT_MARK : text
}

/** All statuses of a task, in the order in which a task takes them. */
export { STATUSES } from '../../shared/core/states.ts'
export type Status = ApiTask['status']
type Reason = NonNullable<ApiTask['statusReason']>
export type State = Status | ApiRun['state'] | ApiStep['state'] | ApiCanvas['items'][number]['status']

/** The colour of each state: one of six, so that a page never shows more. */
const TONES: Readonly<Record<State, string>> = {
  pending: 'idle',
  delayed: 'wait',
  ready: 'wait',
  running: 'busy',
  compensating: 'warn',
  undoing: 'warn',
  succeeded: 'good',
  undone: 'idle',
  failed: 'bad',
  lost: 'bad',
  'undo-failed': 'bad',
  cancelled: 'idle',
  released: 'idle',
  skipped: 'idle',
}

export function toneOf(state: State): string {
  return TONES[state] ?? 'idle'
}

const REASONS: Readonly<Record<Reason, string>> = {
  due: 'waits for its time',
  retry: 'waits for its retry',
  'type-not-allowed': 'its type may not have this work',
  paused: 'its type is paused',
  'rate-limit': 'waits for a slot',
  'concurrency-limit': 'waits for a permit',
  'target-worker': 'waits for its worker',
  'no-handler': 'waits for a handler: none serves its type',
  'no-worker': 'waits for a worker: none serves its type',
  'callbacks-owed': 'owes callbacks',
}

export function reasonText(reason: Reason): string {
  return REASONS[reason] ?? reason
}

const OPERATIONS: Readonly<Record<string, string>> = {
  ...{ put: 'Changed', patch: 'Changed', update: 'Changed by a publish', publish: 'Created' },
  ...{ cancel: 'Cancelled', restart: 'Started over', retry: 'Retried', bulk: 'Bulk operation' },
  ...{ pause: 'Paused', resume: 'Resumed' },
}

/** What a person did, as the API records it. */
export function operationText(what: string): string {
  return OPERATIONS[what] ?? capitalised(what)
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The list without a member, or with it. */
export function toggled<Member>(list: readonly Member[], member: Member): Member[] {
  return list.includes(member) ? list.filter(one => one !== member) : [...list, member]
}

export function isEnded(status: Status): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled'
}

/** A call of the API in a sentence, with its body. */
const CALL =
  /(PATCH|PUT|DELETE|POST) \/v1\/\S*?(?:\/(retry|cancel|resume|replay))?(?: with \{(?:"action": "([a-z-]+)")?[^{}]*\})?(?=[.,;]?( |$))/g
const BUTTONS: Readonly<Record<string, string>> = {
  ...{ PATCH: 'Change', PUT: 'Edit', DELETE: 'Remove' },
  ...{ 'retry-undo': 'Undo again', 'retry-callbacks': 'Publish the owed callbacks' },
  ...{ retry: 'Retry', cancel: 'Cancel', resume: 'Resume', replay: 'Send again' },
}

/** The sentence with the buttons that make its calls. Calls of programs stay. */
export function withButtons(sentence: string): string {
  return sentence.replace(CALL, buttonOf)
}

function buttonOf(call: string, method: string, verb = method, action = verb): string {
  const name = BUTTONS[action]
  return name === undefined ? call : `“${name}”`
}
