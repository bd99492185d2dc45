/**
 * A schedule publishes a task each time it is due; each of these times is a tick. It is stored as a head of its own, whose `dueAt`
 * is the next tick and which no worker can claim.
 *
 * This file has the changes of that head, and the keys of the tasks that it publishes. `due-ticks.ts` decides which ticks run after
 * a pause or an outage. `task/schedule-state.ts` has the fields of the head.
 */

import { DEFAULT_SHARDS, SCHEDULE_PAUSES_MAX } from '../bounds.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { finished } from '../change/finished.ts'
import { hash32 } from '../hash.ts'
import type { Json } from '../json.ts'
import { DEFAULT_OPTIONS } from '../options/options.ts'
import { create, newborn, type Publication } from '../publish/publish.ts'
import { shortError } from '../task/body.ts'
import { SCHEDULE_TYPE, type ScheduleState, type Timing } from '../task/schedule-state.ts'
import { type Task, type TaskError, taskId } from '../task/task.ts'

/** The part of a schedule that callers set. */
export type Definition = Pick<ScheduleState, 'timing' | 'missed' | 'graceMs' | 'taskType'> & {
  /** The publish body of the task that each tick publishes. */
  readonly task: Json
}

export type NewSchedule = {
  readonly name: string
  readonly born: string
  readonly definition: Definition
  /** Its first tick. */
  readonly next: number
}

/** Creates a schedule where none exists, or over the remains of one that is gone. */
export function createSchedule(schedule: NewSchedule, remains: Task | undefined, now: number): Change {
  const change = create(publicationOf(schedule), remains, now)
  return { ...change, after: { ...change.after, schedule: stateOf(schedule.definition) } }
}

/** Starts an ended schedule over under a new birth. */
export function restartSchedule(ended: Task, schedule: NewSchedule, now: number): Change {
  const start = { revision: ended.revision + 1, fence: ended.fence, operation: 'restart' as const }
  const { task, bodies } = newborn(publicationOf(schedule), start, now)
  return revise(ended, { ...task, schedule: stateOf(schedule.definition) }, now, { bodies }).change
}

function stateOf({ timing, missed, graceMs, taskType }: Definition): ScheduleState {
  return { timing, missed, graceMs, taskType, paused: false }
}

/**
 * Replaces the definition of a schedule. With the same timing and task type the schedule keeps its due time. Ticks that are due are
 * published for the type they fell due for, or not at all; otherwise a tick might be published for both types.
 */
export function replaceSchedule(
  task: Task,
  { definition, next }: Pick<NewSchedule, 'definition' | 'next'>,
  now: number,
): Decision<'finished'> {
  if (task.state !== 'open' || !task.schedule) return refuse('finished')
  const { timing, missed, graceMs, taskType } = definition
  const isSame = isSameTiming(timing, task.schedule.timing) && taskType === task.schedule.taskType
  const dueAt = isSame ? task.dueAt : next
  const publication = publicationOf({ name: task.key, born: task.born, definition, next: dueAt })
  const start = { revision: task.revision + 1, fence: task.fence, operation: 'update' as const }
  const { task: fresh, bodies } = newborn(publication, start, now)
  const draft: Task = {
    ...fresh,
    createdAt: task.createdAt,
    ...(task.operations && { operations: task.operations }),
    schedule: { ...task.schedule, timing, missed, graceMs, taskType },
  }
  return revise(task, draft, now, { bodies })
}

function publicationOf({ name, born, definition, next }: NewSchedule): Publication {
  return {
    type: SCHEDULE_TYPE,
    key: name,
    kind: 'schedule',
    ordering: 'arrival',
    born,
    shard: hash32(taskId(SCHEDULE_TYPE, name)) % DEFAULT_SHARDS,
    dueAt: next,
    priority: 0,
    options: DEFAULT_OPTIONS,
    input: definition.task,
  }
}

export type PauseRefusal = 'finished' | 'nothing-to-change'

/** Pauses the schedule. It keeps its due time, so that its resumption knows which ticks fell due before the pause. */
export function pauseSchedule(task: Task, now: number): Decision<PauseRefusal> {
  if (task.state !== 'open' || !task.schedule) return refuse('finished')
  if (task.schedule.paused) return refuse('nothing-to-change')
  const earlier = task.dueAt <= now ? (task.schedule.pauses ?? []) : []
  const pauses = [...earlier, { from: now }].slice(-SCHEDULE_PAUSES_MAX)
  return patched(task, { ...task.schedule, paused: true, pauses }, now)
}

export function resumeSchedule(task: Task, now: number): Decision<PauseRefusal> {
  if (task.state !== 'open' || !task.schedule) return refuse('finished')
  if (!task.schedule.paused) return refuse('nothing-to-change')
  // A schedule that an earlier version paused has no record of it: its last change was the pause.
  const { pauses = [{ from: task.updatedAt }], ...state } = task.schedule
  const ended = pauses.map(pause => ({ to: now, ...pause }))
  return patched(task, { ...state, paused: false, ...(task.dueAt <= now && { pauses: ended }) }, now)
}

/** Records that a caller triggered the schedule. */
export function noteTriggered(task: Task, now: number): Decision<'finished'> {
  if (task.state !== 'open' || !task.schedule) return refuse('finished')
  return patched(task, { ...task.schedule, lastRunAt: Math.max(now, task.schedule.lastRunAt ?? 0) }, now)
}

/** Writes the head without a change, which renews everything that ages with it. */
export function touchSchedule(task: Task, now: number): Decision<'finished'> {
  if (task.state !== 'open' || !task.schedule) return refuse('finished')
  return patched(task, task.schedule, now)
}

function patched(task: Task, schedule: ScheduleState, now: number) {
  return revise(task, { ...task, operation: 'patch', schedule }, now)
}

export type Ticked = {
  /** When the schedule is due again. Undefined: never, so the schedule has ended. */
  readonly next: number | undefined
  /** The last tick that published a task. */
  readonly ranAt: number | undefined
  /** Why a tick could publish no task. */
  readonly error: TaskError | undefined
}

/** Records that the due ticks have been published. The schedule is due again later, or ends. */
export function noteTicked(
  task: Task,
  { next, ranAt, error: trouble }: Ticked,
  now: number,
): Decision<'not-ticking'> {
  if (!isTicking(task)) return refuse('not-ticking')
  const { error: _former, ...rest } = task
  const { pauses: _over, ...state } = task.schedule
  const error = trouble && shortError(trouble)
  const schedule = { ...state, ...(ranAt !== undefined && { lastRunAt: ranAt }) }
  const draft: Task = { ...rest, operation: 'tick', schedule, ...(error && { error }) }
  if (next === undefined) return revise(task, finished(draft, 'succeeded', now, error), now)
  return revise(task, { ...draft, dueAt: next }, now)
}

/** Whether its ticks publish tasks. */
export function isTicking(task: Task): task is Task & { readonly schedule: ScheduleState } {
  return task.state === 'open' && task.schedule !== undefined && !task.schedule.paused
}

export function isSameTiming(one: Timing, other: Timing): boolean {
  switch (one.kind) {
    case 'cron':
      return other.kind === 'cron' && one.cron === other.cron && one.timezone === other.timezone
    case 'every':
      return other.kind === 'every' && one.everyMs === other.everyMs
    case 'at':
      return other.kind === 'at' && one.at === other.at
  }
}

/** The key of the task that a tick publishes. It follows from the tick, so each tick is published once. */
export function tickKey(name: string, tick: number): string {
  return `${name}@${new Date(tick).toISOString()}`
}

/** The key of a task that a caller triggers. No tick has such a key. */
export function triggerKey(name: string, ulid: string): string {
  return `${name}@now-${ulid}`
}
