/**
 * A schedule publishes a task each time it is due; each of these times is a tick. It is stored as a head of its own, whose `dueAt`
 * is the next tick and which no worker can claim.
 *
 * This file has the changes of that head, and the keys of the tasks that it publishes. `dueTicks` decides which ticks are
 * published after a pause or an outage. `task/head-fields.ts` has the fields of the head.
 */

import { DEFAULT_SHARDS, QUEUE_DELAY_MS_MAX, SCHEDULE_PAUSES_MAX } from './bounds.ts'
import type { BodyWrite, Change, Decision, Start } from './change.ts'
import { beginBirth, endFields, refuse, revise } from './change.ts'
import { DEFAULT_OPTIONS } from './options.ts'
import { minuteOf } from './place/place.ts'
import type { Pause, PresentSchedule, Schedule, ScheduleState, Timing } from './task/head-fields.ts'
import { bodyExpiry, bodyOf, bodyRef, SCHEDULE_TYPE } from './task/head-fields.ts'
import { taskId } from './task/task.ts'
import { shortError, type TaskError } from './task-error/task-error.ts'
import { hash32 } from './values/text.ts'
import { type Json, sortedJson } from './values/values.ts'

/** The part of a schedule that callers set. */
export type Definition = Pick<ScheduleState, 'timing' | 'missed' | 'graceMs' | 'taskType' | 'managedBy'> & {
  /** The publish body of the task that each tick publishes. */
  readonly task: Json
}

export type NewSchedule = {
  readonly name: string
  readonly born: string
  readonly definition: Definition
  /** The first tick. */
  readonly next: number
}

/** Creates a schedule where none exists, or over the remains of one that is gone. */
export function createSchedule(
  schedule: NewSchedule,
  remains: Schedule | undefined,
  now: number,
): Change<Schedule> {
  return beginBirth(remains, start => newborn(schedule, start, now), now)
}

/** Starts an ended schedule over under a new birth. */
export function restartSchedule(ended: Schedule, schedule: NewSchedule, now: number): Change<Schedule> {
  const start = { revision: ended.revision + 1, fence: ended.fence, operation: 'restart' as const }
  const { draft, bodies } = newborn(schedule, start, now)
  return revise(ended, draft, now, { bodies }).change
}

/** The draft with which a birth begins. */
function newborn(
  { name, born, definition, next }: NewSchedule,
  start: Start,
  now: number,
): { draft: PresentSchedule; bodies: BodyWrite[] } {
  const { task, ...rules } = definition
  const id = taskId(SCHEDULE_TYPE, name)
  const expiry = bodyExpiry(next, now, DEFAULT_OPTIONS.retentionMs)
  const { body, writes } = bodyOf(task, bodyRef.input(born, start.revision, task), expiry)
  const draft = {
    ...start,
    id,
    type: SCHEDULE_TYPE,
    key: name,
    kind: 'schedule' as const,
    born,
    shard: hash32(id) % DEFAULT_SHARDS,
    state: 'open' as const,
    dueAt: next,
    options: DEFAULT_OPTIONS,
    createdAt: now,
    updatedAt: now,
    input: body,
    schedule: { ...rules, paused: false },
  }
  return { draft, bodies: writes }
}

/**
 * Replaces the definition of a schedule. With the same timing and task type the schedule keeps its due time. Otherwise due ticks
 * that are not published yet are dropped, so that no tick is published for both types.
 */
export function replaceSchedule(
  present: Schedule,
  { definition, next }: Pick<NewSchedule, 'definition' | 'next'>,
  now: number,
): Decision<'finished', Schedule> {
  if (present.state !== 'open') return refuse('finished')
  const { key: name, born, revision, fence, createdAt, operations, schedule } = present
  const { task: _task, ...rules } = definition
  const isSame = isSameTiming(rules.timing, schedule.timing) && rules.taskType === schedule.taskType
  const start = { revision: revision + 1, fence, operation: 'update' as const }
  const dueAt = isSame ? present.dueAt : next
  const { draft: fresh, bodies } = newborn({ name, born, definition, next: dueAt }, start, now)
  const draft: Schedule = {
    ...fresh,
    createdAt,
    ...(operations && { operations }),
    schedule: { ...schedule, ...rules },
  }
  return revise(present, draft, now, { bodies })
}

export type PauseRefusal = 'finished' | 'nothing-to-change'

/** Pauses the schedule. It keeps its due time, so that its resumption knows which ticks fell due before the pause. */
export function pauseSchedule(head: Schedule, now: number): Decision<PauseRefusal, Schedule> {
  if (head.state !== 'open') return refuse('finished')
  if (head.schedule.paused) return refuse('nothing-to-change')
  const earlier = head.dueAt <= now ? (head.schedule.pauses ?? []) : []
  const pauses = [...earlier, { from: now }].slice(-SCHEDULE_PAUSES_MAX)
  return reviseState(head, { ...head.schedule, paused: true, pauses }, now)
}

export function resumeSchedule(head: Schedule, now: number): Decision<PauseRefusal, Schedule> {
  if (head.state !== 'open') return refuse('finished')
  if (!head.schedule.paused) return refuse('nothing-to-change')
  // An earlier version did not record pauses. The last change of a schedule that it paused was the pause.
  const { pauses = [{ from: head.updatedAt }], ...state } = head.schedule
  const ended = pauses.map(pause => ({ to: now, ...pause }))
  return reviseState(head, { ...state, paused: false, ...(head.dueAt <= now && { pauses: ended }) }, now)
}

export function noteTriggered(head: Schedule, now: number): Decision<'finished', Schedule> {
  if (head.state !== 'open') return refuse('finished')
  return reviseState(head, { ...head.schedule, lastRunAt: Math.max(now, head.schedule.lastRunAt ?? 0) }, now)
}

/** Writes the head without a change of its content, so that its bodies are renewed before they expire. */
export function touchSchedule(head: Schedule, now: number): Decision<'finished', Schedule> {
  return head.state === 'open' ? reviseState(head, head.schedule, now) : refuse('finished')
}

function reviseState(head: PresentSchedule, schedule: ScheduleState, now: number) {
  return revise<Schedule>(head, { ...head, operation: 'patch', schedule }, now)
}

export type Ticked = {
  /** The time at which the schedule is due again. Undefined: never, so the schedule has ended. */
  readonly next: number | undefined
  /** The last tick that published a task. */
  readonly ranAt: number | undefined
  /** Why a tick could publish no task. */
  readonly error: TaskError | undefined
}

/** Records that the due ticks have been published. The schedule is due again later, or ends. */
export function noteTicked(
  head: Schedule,
  { next, ranAt, error: trouble }: Ticked,
  now: number,
): Decision<'not-ticking', Schedule> {
  if (!isTicking(head)) return refuse('not-ticking')
  const { error: _former, ...rest } = head
  const { pauses: _over, ...state } = head.schedule
  const schedule = { ...state, ...(ranAt !== undefined && { lastRunAt: ranAt }) }
  const error = trouble && shortError(trouble)
  const draft = { ...rest, operation: 'tick' as const, schedule, ...(error && { error }) }
  if (next === undefined)
    return revise<Schedule>(head, { ...draft, ...endFields(head, 'succeeded', now) }, now)
  return revise<Schedule>(head, { ...draft, dueAt: next }, now)
}

/** Whether the schedule's ticks publish tasks: it is open and not paused. */
export function isTicking(head: Schedule): head is PresentSchedule {
  return head.state === 'open' && !head.schedule.paused
}

/** The plan of a schedule. It needs no dispatch: the waker looks at it when it is due. */
export function planOfSchedule(
  head: Schedule,
  now: number,
): { readonly minute?: number; readonly lookAt?: number } {
  if (!isTicking(head)) return {}
  const { dueAt } = head
  return dueAt - now > QUEUE_DELAY_MS_MAX ? { minute: minuteOf(dueAt) } : { lookAt: dueAt }
}

export function isSameTiming(one: Timing, other: Timing): boolean {
  return sortedJson(one) === sortedJson(other)
}

/** The key of the task that a tick publishes. It follows from the tick, so each tick is published once. */
export function tickKey(name: string, tick: number): string {
  return `${name}@${new Date(tick).toISOString()}`
}

/** The key of a task that a caller triggers. No tick has such a key. */
export function triggerKey(name: string, ulid: string): string {
  return `${name}@now-${ulid}`
}

/** The ticks of a schedule, earliest first. */
export type Ticks = {
  /** The first tick after a time; undefined when no tick follows. */
  next(after: number): number | undefined
  /** The last `count` ticks from `from` up to, but without, `before`. A schedule of few ticks has no such search. */
  last?(count: number, from: number, before: number): number[]
}

export type DueTicks = {
  /** The ticks to publish now, earliest first. */
  readonly publish: readonly number[]
  /** The time at which the schedule is due again; undefined for never. */
  readonly next: number | undefined
}

/** The settings and facts that decide which due ticks a schedule publishes. */
export type OwedTicks = Pick<ScheduleState, 'missed' | 'graceMs' | 'pauses'> & {
  /** The first tick that no process has handled. */
  readonly from: number
}

/**
 * The ticks that a schedule must publish now. With `skip` that is the latest due tick, unless it fell into a pause or is late by
 * more than `graceMs`. With `catchUp` it is the latest few due ticks, however late.
 */
export function dueTicks(
  ticks: Ticks,
  { from, missed, graceMs, pauses = [] }: OwedTicks,
  now: number,
): DueTicks {
  const next = ticks.next(now)
  if (missed !== 'skip') return { publish: lastDue(ticks, missed.catchUp, from, now), next }
  const isMissed = (tick: number) => now - tick > graceMs || pauses.some(pause => fellInto(pause, tick))
  return { publish: lastDue(ticks, 1, from, now).filter(tick => !isMissed(tick)), next }
}

/** Steps forward before the search goes backwards. In the hours after clocks are put back, a backward search takes up to 0.2 s. */
const STEPS_MAX = 20

function lastDue(ticks: Ticks, count: number, from: number, now: number): readonly number[] {
  const due: number[] = []
  for (let tick = ticks.next(from - 1); tick !== undefined && tick <= now; tick = ticks.next(tick)) {
    if (ticks.last && due.length === STEPS_MAX) return ticks.last(count, from, now + 1)
    due.push(tick)
  }
  return due.slice(-count)
}

function fellInto({ from, to }: Pause, tick: number): boolean {
  return tick >= from && (to === undefined || tick < to)
}

/** Ticks every `everyMs` after `anchor`, without the anchor itself. */
export function ticksEvery(everyMs: number, anchor: number): Ticks {
  const next = (after: number) => anchor + Math.max(1, Math.floor((after - anchor) / everyMs) + 1) * everyMs
  return {
    next,
    last: (count, from, before) => {
      const end = next(before - 1) - everyMs
      const start = Math.max(next(from - 1), end - (count - 1) * everyMs)
      const length = Math.max(0, Math.floor((end - start) / everyMs) + 1)
      return Array.from({ length }, (_, index) => start + index * everyMs)
    },
  }
}

export function ticksAt(at: number): Ticks {
  return { next: after => (after < at ? at : undefined) }
}
