/**
 * A schedule publishes a task at given times; each such time is a tick. A schedule has a head like a task, so
 * looks, sweeps and conditional writes work as they do for tasks.
 *
 * This file sets, changes, pauses, resumes, removes and triggers schedules. `shared/cron` computes ticks in a time zone.
 * `tick-schedule.ts` publishes what is due, and ticks schedules whose message was lost. `read-schedules.ts` reads.
 */

import type { ScheduledTask } from '../../api/schedules.ts'
import { type Change, type Decision, type Expected, isStale } from '../../core/change.ts'
import { remove } from '../../core/operate/operate.ts'
import { isGone } from '../../core/publish.ts'
import type { Definition, PauseRefusal } from '../../core/schedule.ts'
import {
  createSchedule,
  isSameTiming,
  noteTriggered,
  pauseSchedule as pause,
  replaceSchedule,
  restartSchedule,
  resumeSchedule as resume,
  triggerKey,
} from '../../core/schedule.ts'
import { isSchedule } from '../../core/task/head.ts'
import type { Missed, PresentSchedule, Schedule, Timing } from '../../core/task/head-fields.ts'
import { SCHEDULE_TYPE } from '../../core/task/head-fields.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import { BatonError, type FieldProblem, type Json, sortedJson } from '../../core/values/values.ts'
import { ticksOfTiming } from '../../cron/cron-ticks.ts'
import { bodyValue, readHead } from '../kernel/heads.ts'
import { transact, transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { type OperateOutcome, type RemoveOutcome, STALE, UNKNOWN } from '../operate/operate.ts'
import type { PublishRefusal } from '../publish/decide-publish.ts'
import { type PublishOutcome, publish } from '../publish/publish.ts'
import { requestOfBody, resolveRequest } from '../publish/resolve-publication.ts'
import { batchTypeReader } from '../types/type-cache.ts'
import { registeredNames } from '../types/types.ts'

/** A schedule as a caller asks for it. The caller has already validated each field, including the cron expression. */
export type ScheduleRequest = {
  readonly timing: Timing
  readonly missed: Missed
  readonly graceMs: number
  readonly task: ScheduledTask
  /** The stack whose deployment keeps the schedule. Left out for a request over HTTP. */
  readonly managedBy?: string
}

export type PutScheduleOutcome =
  | { readonly ok: true; readonly created: boolean; readonly task: Schedule }
  | PublishRefusal
  /** A person has changed the schedule since the caller read it. `task` is left out when none exists. */
  | { readonly ok: false; readonly reason: 'stale'; readonly task?: Schedule }
  | KeptElsewhere

/** The schedule is kept by a deployment and the request came over HTTP, or the other way round. */
export type KeptElsewhere = {
  readonly ok: false
  readonly reason: 'kept-elsewhere'
  readonly task: PresentSchedule
}

/**
 * Creates a schedule or replaces what it publishes and when. An open schedule keeps its creation time and its pause, and with the same
 * timing also its next tick. The same definition again changes nothing, even after the last tick of the schedule.
 */
export async function putSchedule(
  system: System,
  name: string,
  request: ScheduleRequest,
  expected: Expected = {},
): Promise<PutScheduleOutcome> {
  const id = taskId(SCHEDULE_TYPE, name)
  const seen = await readHead(system, id, isSchedule)
  const { task, ...rules } = request
  const definition = { ...rules, taskType: task.type, task: task as unknown as Json }
  if (isStale(presentIn(system, seen), expected)) return stale(system, seen)
  if (seen && (await isSame(system, seen, definition))) return { ok: true, created: false, task: seen }
  const refusal = await refusalOf(system, request)
  if (refusal) return refusal
  const { decision, head } = await transact(system, seen, current => {
    const kept = keptElsewhere(system, current, request)
    if (kept) return kept
    return isStale(presentIn(system, current), expected)
      ? STALE
      : decide(system, current, { name, definition })
  })
  if (!decision.ok && decision.reason === 'kept-elsewhere') return decision
  if (!decision.ok && decision.reason === 'stale') return stale(system, head)
  if (!decision.ok) return { ok: false, reason: 'invalid', problems: [neverTicksProblem(request.timing)] }
  if (!head) throw new BatonError('unavailable', `${id} was removed while it was being set`)
  return { ok: true, created: decision.created, task: head }
}

function stale(system: System, head: Schedule | undefined): PutScheduleOutcome {
  const task = presentIn(system, head)
  return { ...STALE, ...(task && { task }) }
}

/** The refusal of a change over HTTP to a schedule that a deployment keeps, or the other way round. */
function keptElsewhere(
  system: System,
  head: Schedule | undefined,
  { managedBy }: Pick<ScheduleRequest, 'managedBy'>,
): KeptElsewhere | undefined {
  if (!isPresent(system, head)) return undefined
  const isKeptHere = (head.schedule.managedBy === undefined) === (managedBy === undefined)
  return isKeptHere ? undefined : { ok: false, reason: 'kept-elsewhere', task: head }
}

function presentIn({ clock }: System, head: Schedule | undefined): Schedule | undefined {
  return isGone(head, clock.now()) ? undefined : head
}

async function isSame(system: System, seen: Schedule, definition: Definition): Promise<boolean> {
  const { schedule, input } = seen
  if (!schedule || !input || isGone(seen, system.clock.now())) return false
  if (!isSameTiming(schedule.timing, definition.timing)) return false
  if (schedule.graceMs !== definition.graceMs || schedule.managedBy !== definition.managedBy) return false
  if (sortedJson(schedule.missed) !== sortedJson(definition.missed)) return false
  const stored = await bodyValue(system, seen.id, input)
  // The order of members says nothing, and callers write them in different orders.
  return stored !== undefined && sortedJson(stored) === sortedJson(definition.task)
}

/** Checks the task against its type now, so that no tick is refused later. */
async function refusalOf(
  system: System,
  { task }: ScheduleRequest,
): Promise<Extract<PutScheduleOutcome, { ok: false }> | undefined> {
  const context = { ...system, typeOf: batchTypeReader(system) }
  const resolved = await resolveRequest(context, requestOfBody(task))
  if (resolved.ok) return undefined
  const inTask = <One extends { readonly path: string }>(one: One) => ({ ...one, path: `task.${one.path}` })
  if (resolved.unknown.length === 0) {
    return { ok: false, reason: 'invalid', problems: resolved.problems.map(inTask) }
  }
  const existing = await registeredNames(system)
  return { ok: false, reason: 'unknown-type', unknown: resolved.unknown.map(inTask), existing }
}

type Decided =
  | { readonly ok: true; readonly created: boolean; readonly change: Change<Schedule> }
  | { readonly ok: false; readonly reason: 'never-ticks'; readonly change?: undefined }

function decide(
  { clock, chance }: System,
  current: Schedule | undefined,
  { name, definition }: { readonly name: string; readonly definition: Definition },
): Decided {
  const now = clock.now()
  const isPresent = current !== undefined && !isGone(current, now)
  const isOpen = isPresent && current.state === 'open'
  const next = ticksOfTiming(definition.timing, isOpen ? current.createdAt : now).next(now)
  if (next === undefined) return { ok: false, reason: 'never-ticks' }
  const schedule = { name, born: chance.ulid(now), definition, next }
  if (!isPresent) return { ok: true, created: true, change: createSchedule(schedule, current, now) }
  const replaced = replaceSchedule(current, schedule, now)
  return {
    ok: true,
    created: false,
    change: replaced.ok ? replaced.change : restartSchedule(current, schedule, now),
  }
}

function neverTicksProblem({ kind }: Timing): FieldProblem {
  return kind === 'at'
    ? { path: 'at', message: 'must be in the future' }
    : { path: 'cron', message: 'must match some day, but no calendar has such a day' }
}

type PauseOutcome = OperateOutcome<'finished' | 'stale', Schedule>

/**
 * Pauses a schedule: when this returns, no tick that falls due later publishes anything. A tick that is due at the moment of
 * the pause may still publish its task just afterwards. Repeating the pause changes nothing.
 */
export function pauseSchedule(system: System, id: string, expected: Expected = {}): Promise<PauseOutcome> {
  return change(system, id, pause, expected)
}

/** Resumes a schedule: it continues with its next tick. Ticks that fell into the pause count as missed. Repeating it changes nothing. */
export function resumeSchedule(system: System, id: string, expected: Expected = {}): Promise<PauseOutcome> {
  return change(system, id, resume, expected)
}

async function change(
  system: System,
  id: string,
  decide: (head: Schedule, now: number) => Decision<PauseRefusal, Schedule>,
  expected: Expected,
): Promise<PauseOutcome> {
  const { decision, head } = await transact(system, await readHead(system, id, isSchedule), current => {
    if (!isPresent(system, current)) return UNKNOWN
    return isStale(current, expected) ? STALE : decide(current, system.clock.now())
  })
  if (!head || (!decision.ok && decision.reason === 'unknown')) return UNKNOWN
  if (decision.ok || decision.reason === 'nothing-to-change') return { ok: true, task: head }
  return { ok: false, reason: decision.reason, task: head }
}

/**
 * Removes a schedule: when this returns, readers do not find it, and no tick that falls due later publishes anything. A tick that is
 * due at the moment of the removal may still publish its task just afterwards.
 */
export async function removeSchedule(
  system: System,
  id: string,
  expected: Expected & Pick<ScheduleRequest, 'managedBy'> = {},
): Promise<RemoveOutcome<Schedule> | KeptElsewhere> {
  const { decision, head } = await transact(system, await readHead(system, id, isSchedule), current => {
    if (!isPresent(system, current)) return UNKNOWN
    const kept = keptElsewhere(system, current, expected)
    if (kept) return kept
    if (isStale(current, expected)) return STALE
    return { ok: true as const, change: remove<Schedule>(current, system.clock.now()) }
  })
  if (decision.ok) return { ok: true }
  if (decision.reason === 'kept-elsewhere') return decision
  return head && decision.reason === 'stale' ? { ...decision, task: head } : UNKNOWN
}

type Triggered =
  | { readonly ok: true; readonly task: Task }
  | { readonly ok: false; readonly reason: 'unknown' }
  | {
      readonly ok: false
      readonly reason: 'refused'
      readonly type: string
      readonly outcome: Extract<PublishOutcome, { ok: false }>
    }

/** Publishes the task of a schedule now, independent of its ticks. This also works for a schedule that is paused or has ended. */
export async function triggerSchedule(system: System, id: string): Promise<Triggered> {
  const head = await readHead(system, id, isSchedule)
  if (!isPresent(system, head)) return UNKNOWN
  const body = await readScheduledTask(system, head)
  const ulid = system.chance.ulid(system.clock.now())
  const outcome = await publish(system, {
    ...requestOfBody(body),
    key: triggerKey(head.key, ulid),
    parentId: id,
  })
  if (!outcome.ok) return { ok: false, reason: 'refused', type: body.type, outcome }
  await recordTrigger(system, head)
  return { ok: true, task: outcome.task }
}

/** Records in the schedule that it was triggered. The task is published already, so a failure here is only logged. */
async function recordTrigger(system: System, head: Schedule): Promise<void> {
  try {
    await transactBirth(system, head, current => noteTriggered(current, system.clock.now()))
  } catch (error) {
    system.log.info('a schedule was triggered, but this could not be recorded in the schedule', {
      scheduleId: head.id,
      error,
    })
  }
}

/**
 * Reads the publish body of a schedule's task.
 *
 * @throws BatonError `unavailable` when it cannot be read.
 */
export async function readScheduledTask(
  system: Pick<System, 'tasks'>,
  { id, input }: PresentSchedule,
): Promise<ScheduledTask> {
  const body = await bodyValue(system, id, input)
  if (body === undefined) throw new BatonError('unavailable', `the task of ${id} cannot be read`)
  return body as unknown as ScheduledTask
}

export function isPresent(system: System, head: Schedule | undefined): head is PresentSchedule {
  return head?.schedule !== undefined && !isGone(head, system.clock.now())
}
