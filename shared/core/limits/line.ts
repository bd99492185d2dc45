/**
 * The line of a limit: the tasks that a limit holds back, in the order of their type. Rate limits and concurrency limits differ only in
 * what they count; their tasks wait alike, and looks admit them alike. `runtime/limits/limits.ts` has the whole story.
 *
 * Each line with waiting tasks has a note, one item of the table. This file decides what the note says and what a look does.
 */

import type { Wait } from '../task/task.ts'
import { hash32 } from '../values/text.ts'
import { groupBy } from '../values/values.ts'
import type { FreedPermit } from './limits.ts'

/** A line is named by what its tasks wait for. */
export type Line = Wait

/** The tasks that looks have dispatched at one time, as often as `times` says, and that still waited at the last look. */
type Sent = {
  readonly at: number
  readonly times: number
  /** How many tasks were dispatched, and how many slots the limit had granted before. */
  readonly count: number
  readonly granted: number
  /** Short hashes of the ids of those that still wait. */
  readonly ids: readonly string[]
}

/**
 * What is noted of a line. The note also names the one series of looks at the line: a look of the series that finds another `lookAt`
 * than its own ends.
 */
export type LineNote = {
  readonly lookAt: number
  /** Whether a task that has not waited yet must join the line. False while the limit has more to grant than tasks wait. */
  readonly isClosed: boolean
  /** How many looks in a row found no waiting task. An index may show a task late. */
  readonly emptyLooks: number
  readonly sent: readonly Sent[]
}

/** A note and its version, which grows with every write. Version 0 means that none is stored. */
export type StoredLineNote = { readonly note: LineNote | undefined; readonly version: number }

/**
 * A message that makes the waker look at a line.
 *
 * - With `at`, it belongs to the series of the note with this `lookAt`.
 * - With `released`, it is sent once, because runs gave this many permits back, or claims this many slots. `shards` has the shard of
 *   each permit.
 * - With neither, the limit has changed, and a new series replaces the present one.
 *
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type LimitLook = {
  readonly line: Line
  readonly at?: number
  readonly released?: number
  readonly shards?: readonly number[]
  readonly delaySeconds: number
}

/**
 * A change that the planner reads from the table's stream. Handlers send no messages about limits: Lambda would cut a chain of handler,
 * waker and handler after 16 rounds.
 *
 * - `freed`     a run gave a permit of the limit back
 * - `returned`  claims gave back slots that they could not use
 * - `noted`     tasks wait in the line, and the first look of its series is due at `lookAt`
 */
export type LimitChange =
  | ({ readonly kind: 'freed' } & FreedPermit)
  | { readonly kind: 'returned'; readonly line: Line; readonly slots: number }
  | { readonly kind: 'noted'; readonly line: Line; readonly lookAt: number }

/** A look that is late by this much is lost. */
const LOOK_LATE_MS = 20_000
/** The waker looks at the line of a concurrency limit this often, whatever messages are lost. */
const PERMIT_LOOK_MS = 15_000
/** The next look comes this soon while dispatches are under way, in case one of them is lost or no worker can claim its task. */
const LOOK_SOON_MS = 5_000
const LOOK_MS_MIN = 1_000
/** The longest delay of a queue. A slot further ahead is looked at again. */
const LOOK_MS_MAX = 900_000
/** The series ends after an empty look that follows these pauses. By then, each claim has written the wait that it had decided on. */
const EMPTY_PAUSES_MS = [LOOK_SOON_MS, PERMIT_LOOK_MS]
/**
 * A look admits tasks for the slots of this time. A claim accepts a slot this far ahead, so the next look may be a second late without
 * the loss of a slot.
 */
export const ADMITTED_AHEAD_MS = 2_000
/** A dispatch that has had no effect for this time may be lost, or no worker can claim its task now. */
export const SENT_MS = 4_000
/** The longest pause between two dispatches of a task that has not been claimed. Each pause is twice as long as the last. */
const SENT_MS_MAX = 900_000
/** A note remembers this many dispatched tasks. A task that it has forgotten may be dispatched twice. */
const REMEMBERED_MAX = 2_000
/** A look admits at most this many tasks. */
export const LOOK_TASKS_MAX = 2_000
/** While workers take dispatches without any effect, each look sends twice as many as the last one, up to this number. */
const TRIED_MAX = 1_000

/** Whether a series of looks serves the line. */
export function isServed({ lookAt }: LineNote, now: number): boolean {
  return lookAt + LOOK_LATE_MS > now
}

/** The note after a claim was refused: newcomers join the line, and the next look comes at `lookAt` or earlier. Undefined: it says so already. */
export function closedNote(note: LineNote | undefined, lookAt: number, now: number): LineNote | undefined {
  if (!note || !isServed(note, now)) return { emptyLooks: 0, sent: [], ...note, isClosed: true, lookAt }
  return note.isClosed ? undefined : { ...note, isClosed: true, lookAt: Math.min(note.lookAt, lookAt) }
}

/** The time of the first look at a line, where the limit can grant the next start at `grantAt`. Undefined: as soon as a permit is free. */
export function firstLookAt(grantAt: number | undefined, now: number): number {
  return lookTime(grantAt === undefined ? now : grantAt - ADMITTED_AHEAD_MS, now)
}

/** A time for a look: a whole number of seconds ahead, as a queue delays. */
function lookTime(time: number, now: number): number {
  const seconds = Math.ceil(Math.min(Math.max(time - now, LOOK_MS_MIN), LOOK_MS_MAX) / 1_000)
  return now + seconds * 1_000
}

/** The dispatches of a note that still matter, and the tasks that it must not dispatch again now. */
export type Remembered = {
  /** Whether the task may be dispatched now. */
  mayBeSent(id: string): boolean
  /** How many entries of the line's front have been dispatched, which a look therefore reads in vain. */
  readonly count: number
}

export function rememberedIn({ sent }: LineNote, now: number): Remembered {
  const busyUntil = new Map(
    sent.flatMap(({ at, times, ids }) => ids.map(id => [id, at + pauseMs(times)] as const)),
  )
  return { mayBeSent: id => (busyUntil.get(hashOf(id)) ?? 0) <= now, count: busyUntil.size }
}

function pauseMs(times: number): number {
  return Math.min(SENT_MS_MAX, SENT_MS * 2 ** (times - 1))
}

/** What a limit can grant: `free` starts until the next look, and the start after them at `nextAt`. */
export type Grants = {
  readonly free: number
  /** When the first of the free starts can be granted, if that is not now. */
  readonly firstAt?: number
  /** When a start after the free ones can be granted. Undefined for permits, which are free when a run ends. */
  readonly nextAt?: number
  /** How many slots the limit had granted in all. Undefined for permits. */
  readonly granted?: number
}

/**
 * Whether none of the tasks that the last look dispatched has left the line or been granted a slot since, though it had time to. The note
 * does not show yet which tasks have left since that look.
 */
export function hadNoEffect({ sent }: LineNote, { granted }: Grants, now: number): boolean {
  const last = lastOf(sent)
  const isUnused = last.every(one => granted === undefined || granted === one.granted)
  const isPresent = last.every(one => one.at + SENT_MS <= now && one.ids.length === one.count)
  return last.length > 0 && isUnused && isPresent
}

function lastOf(sent: readonly Sent[]): readonly Sent[] {
  return sent.filter(({ at }) => at === sent.at(-1)?.at)
}

/** How many tasks a look admits: as many as the limit can grant, less those that were dispatched and may still take their grants. */
export function wantedBy({ sent }: LineNote, { free, granted }: Grants, now: number): number {
  const recent = sent.filter(one => isRecent(one, now))
  const begun = granted === undefined ? 0 : Math.max(0, granted - (recent[0]?.granted ?? granted))
  const underWay = sum(recent.map(one => (granted === undefined ? one.ids.length : one.count)))
  return Math.min(LOOK_TASKS_MAX, Math.max(0, free - Math.max(0, underWay - begun)))
}

/** How many tasks a look admits that was sent because `released` permits or slots were given back. Each freed permit admits one. */
export function wantedAfterRelease(note: LineNote, grants: Grants, released: number, now: number): number {
  return Math.min(released, grants.granted === undefined ? grants.free : wantedBy(note, grants, now))
}

/**
 * How many tasks a look admits after dispatches without effect. If workers have taken the messages, those at the front may be tasks that
 * no worker can claim, so it tries twice as many as before. If messages wait in the queue, it rarely sends more.
 */
export function wantedAfterNoEffect(
  { sent }: LineNote,
  { free }: Grants,
  now: number,
  isQueueEmpty: boolean,
): number {
  const last = lastOf(sent)
  if (free === 0) return 0
  if (!isQueueEmpty) return last.every(({ at }) => at + SENT_MS_MAX <= now) ? free : 0
  return Math.max(free, Math.min(TRIED_MAX, 2 * sum(last.map(({ count }) => count))))
}

/** What a look found: the waiting tasks at the front of the line, and those that it admits. */
export type Found = {
  readonly waiting: readonly string[]
  readonly chosen: readonly string[]
  /** Whether the limit could grant more starts than tasks wait. */
  readonly isSpare: boolean
  /** Whether no task waits for the limit. */
  readonly isIdle: boolean
}

/** The note after a look has chosen its tasks. It remembers them, and forgets those that have left the line. */
export function noteAfterChoice(
  note: LineNote,
  { waiting, chosen }: Found,
  { granted = 0 }: Grants,
  now: number,
): LineNote {
  const present = new Set(waiting.map(hashOf))
  const times = new Map(note.sent.flatMap(one => one.ids.map(id => [id, one.times] as const)))
  const again = [...new Set(chosen.map(hashOf))]
  const kept = note.sent.map(one => ({
    ...one,
    ids: one.ids.filter(id => present.has(id) && !again.includes(id)),
  }))
  const news = [...groupBy(again, id => (times.get(id) ?? 0) + 1)].map(([nth, ids]) => ({
    ...{ at: now, times: nth, count: ids.length, granted, ids },
  }))
  const all = [...kept, ...news]
  // The last dispatches are kept whole: those that had an effect show that the others only lost a race for a grant.
  const lastAt = all.at(-1)?.at
  const sent = all.filter(one => matters(one, now) || one.at === lastAt)
  return { ...note, sent: withinBound(sent) }
}

/** Whether some of the dispatched tasks still wait, or may have been dispatched in a message that is under way. */
function matters(one: Sent, now: number): boolean {
  return one.ids.length > 0 || isRecent(one, now)
}

function isRecent({ at }: Sent, now: number): boolean {
  return at + SENT_MS > now
}

/** The newest dispatches, up to the bound of what a note remembers. */
function withinBound(sent: readonly Sent[]): readonly Sent[] {
  let left = REMEMBERED_MAX
  const kept = sent.toReversed().map(one => {
    const ids = one.ids.slice(0, Math.max(0, left))
    left -= ids.length
    return { ...one, ids }
  })
  return kept.toReversed()
}

/** The note after a look of the series, with the time of the next look. Undefined when the series ends. */
export function noteAfterLook(
  note: LineNote,
  { chosen, isSpare, isIdle }: Found,
  { free, nextAt }: Grants,
  now: number,
): LineNote | undefined {
  if (isIdle) {
    const pause = EMPTY_PAUSES_MS[note.emptyLooks]
    if (pause === undefined) return undefined
    return { ...note, isClosed: false, emptyLooks: note.emptyLooks + 1, lookAt: lookTime(now + pause, now) }
  }
  // A task that lost the race for a grant waits for the next one. Until there is one, no look need come for it.
  const mayBeSentAgain = (one: Sent) => free > 0 && one.ids.length > 0
  const isUnderWay = chosen.length > 0 || note.sent.some(one => isRecent(one, now) || mayBeSentAgain(one))
  const soon = isUnderWay ? now + LOOK_SOON_MS : Number.POSITIVE_INFINITY
  const next = nextAt === undefined ? now + PERMIT_LOOK_MS : nextAt - ADMITTED_AHEAD_MS
  return { ...note, isClosed: !isSpare, emptyLooks: 0, lookAt: lookTime(Math.min(soon, next), now) }
}

/**
 * The note after a look that was sent because permits or slots were given back. When fewer tasks wait than the limit can grant, newcomers
 * need not wait. Undefined when nothing has changed.
 */
export function noteAfterRelease(
  note: LineNote,
  afterChoice: LineNote,
  { chosen, isSpare }: Found,
): LineNote | undefined {
  const opens = isSpare && note.isClosed
  if (chosen.length === 0 && !opens) return undefined
  return opens ? { ...afterChoice, isClosed: false } : afterChoice
}

function hashOf(id: string): string {
  return hash32(id).toString(36)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
