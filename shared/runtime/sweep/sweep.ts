/**
 * The sweeper runs once a minute and repairs what lost messages and dead processes leave.
 *
 * This file is one round: it goes through the types and has the rooms of canvases, schedules, purges and
 * types sweep their own. `lost-tasks.ts` judges which tasks have lost their message, and `sweep-passes.ts` reads
 * partitions in passes. `sweep-minutes.ts` wakes far minutes, and `stuck-tasks.ts` reports tasks that no
 * message can help. Read this file, then `sweep-passes.ts` and `lost-tasks.ts`.
 */

import { patch } from '../../core/operate/patch.ts'
import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import { sweepRecord } from '../../core/record-names.ts'
import { bodiesExpiringBefore } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { sweepCanvases } from '../canvas/sweep-canvases.ts'
import { sweepPurges } from '../jobs/sweep-purges.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import { transact } from '../kernel/kernel.ts'
import { BODY_ALERT_MS } from '../kernel/living-bodies.ts'
import { readTasks } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepLimits } from '../limits/serve-limit-looks.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'
import { areCallbacksWorthRetrying, publishOwedCallbacks } from '../plan/publish-callbacks.ts'
import { sweepSchedules } from '../schedule/sweep-schedules.ts'
import { sweepTypeChanges } from '../types/apply-type-change.ts'
import { type StateReader, servingStateReader } from '../types/serving-states.ts'
import { GRACE_MS, lostTasks } from './lost-tasks.ts'
import { reportStuck } from './stuck-tasks.ts'
import { type CheckedMinutes, sweepMinutes } from './sweep-minutes.ts'
import { readNextInPass, type SweepCandidate } from './sweep-passes.ts'

/** Rounds come every minute, so looking back further than one minute covers a lost round. */
const LOOK_BACK_MS = 180_000
/** A type that no round has finished for this long has missed some rounds. */
const ROUND_MISSED_MS = 150_000
const TYPES_AT_ONCE_MAX = 4
const TASKS_AT_ONCE_MAX = 25
/** Tasks read per type, shard and round: where the queue is empty, and where a healthy backlog waits. */
const TASKS_BUDGET = { emptyQueue: 500, backlog: 50 }
const PAGE_TASKS = 100

/** For each type, when this process last finished a round, and since when it has missed none. */
export type SweepRounds = Map<string, { readonly since: number; readonly last: number }>

export type SweepReport = { readonly looked: number; readonly repaired: number; readonly failed: number }

/**
 * One round of the safety net: finds open tasks whose message was lost and plans them again. Its cost per type
 * and round is bounded however many tasks wait: recently due tasks are read once, the rest from a cursor, a
 * budget at a time. A type that cannot be swept does not affect the others.
 *
 * The process keeps `rounds` and `minutes` from round to round. `rounds` tell since when no round was missed: a
 * task that became due earlier counts as waiting only since then. Without `rounds`, no round counts as missed.
 * `minutes` are the far minutes that were checked already.
 */
export async function sweep(
  system: PlanningSystem,
  rounds?: SweepRounds,
  minutes: CheckedMinutes = new Set(),
): Promise<SweepReport> {
  const types = rotate(await system.types.list(), system.chance.fraction())
  const round: Round = {
    stateOf: servingStateReader(system, types),
    typesChangedAt: Math.max(0, ...types.map(({ updatedAt }) => updatedAt)),
    paused: new Set(types.filter(({ paused }) => paused).map(({ type }) => type)),
    rounds,
    seen: [],
  }
  const sweepingCanvases = sweepCanvases(system).catch(error => {
    system.log.error('canvases were not swept', { error })
    return { looked: 0, failed: 1 }
  })
  const sweepingSchedules = sweepSchedules(system).catch(error => {
    system.log.error('schedules were not swept', { error })
    return { looked: 0, repaired: 0, failed: 1 }
  })
  const sweepingMinutes = sweepMinutes(system, minutes)
  const sweepingPurges = sweepPurges(system, types)
  const sweepingChanges = sweepTypeChanges(system, types)
  const reports = await sideBySide(types, TYPES_AT_ONCE_MAX, type =>
    sweepType(system, type, round).catch(error => {
      system.log.error('a type was not swept', { type: type.type, error })
      return { looked: 0, repaired: 0, failed: 1 }
    }),
  )
  const canvases = { ...(await sweepingCanvases), repaired: 0 }
  const background = await Promise.all([sweepingMinutes, sweepingPurges, sweepingChanges])
  const others = background.map(report => ({ ...report, looked: 0 }))
  const sweptSince = (type: string) => rounds?.get(type)?.since ?? 0
  await reportStuck(system, { types, stateOf: round.stateOf, tasks: round.seen, sweptSince })
  const all = [...reports, ...others, canvases, await sweepingSchedules]
  return {
    looked: sum(all.map(({ looked }) => looked)),
    repaired: sum(all.map(({ repaired }) => repaired)),
    failed: sum(all.map(({ failed }) => failed)),
  }
}

/** Starts at a random type, so that no type is always the last when the time runs out. */
function rotate<T>(list: readonly T[], share: number): T[] {
  const start = Math.floor(list.length * share)
  return [...list.slice(start), ...list.slice(0, start)]
}

/** What the types of one round share; each type adds the tasks that it has read. */
type Round = {
  readonly stateOf: StateReader
  /** When any type was changed last. */
  readonly typesChangedAt: number
  readonly paused: ReadonlySet<string>
  readonly rounds: SweepRounds | undefined
  readonly seen: Task[]
}

async function sweepType(system: PlanningSystem, type: TaskType, round: Round): Promise<SweepReport> {
  const { rounds } = round
  const now = system.clock.now()
  const { backlog } = await round.stateOf(type.type, type.configuration.kind)
  const candidates = new Map<string, SweepCandidate>()
  for (const shard of shardNumbers(type)) {
    for (const one of await sweepCandidates(system, type, shard, backlog, now)) {
      candidates.set(one.task.id, leastRead(one, candidates.get(one.task.id)))
    }
  }
  const seen = [...candidates.values()].map(({ task }) => task)
  round.seen.push(...seen)
  const sweptSince = rounds ? noRoundMissedSince(rounds, type.type, now) : 0
  const lost = await lostTasks(system, [...candidates.values()], round, sweptSince)
  await renewAgeingBodies(system, seen, now)
  const retried = seen.filter(task => areCallbacksWorthRetrying(task, round.typesChangedAt, now))
  const unplanned = await isolateFaults(planTasks, system, lost)
  const failures = [...unplanned, ...(await isolateFaults(publishOwedCallbacks, system, retried))]
  await sweepLimits(system, seen)
  if (lost.length > 0) {
    system.metrics.add('SweeperRepaired', lost.length, type.type)
    system.log.warn('sent the lost messages of tasks again', {
      type: type.type,
      tasks: lost.length,
      first: lost[0]?.id,
    })
  }
  // A task that is refused for good fails in every round, so the round counts as finished all the same.
  if (!failures.some(({ transient }) => transient)) rounds?.set(type.type, { since: sweptSince, last: now })
  const unrepaired = new Set(unplanned.map(({ id }) => id))
  const repaired = lost.filter(({ id }) => !unrepaired.has(id)).length
  return { looked: seen.length, repaired, failed: failures.length }
}

/** A task may be found by several passes. It counts as read only as often as by the pass that read it least. */
function leastRead(one: SweepCandidate, other: SweepCandidate = one): SweepCandidate {
  return {
    task: one.task,
    unreadSince: Math.min(one.unreadSince, other.unreadSince),
    readOnceSince: Math.min(one.readOnceSince, other.readOnceSince),
  }
}

/** The time since which no round was missed; now, when the last rounds were missed. */
function noRoundMissedSince(rounds: SweepRounds, type: string, now: number): number {
  const known = rounds.get(type)
  return known && now - known.last <= ROUND_MISSED_MS ? known.since : now
}

/**
 * Renews the bodies of tasks that wait untouched for weeks. Any transition renews bodies that expire soon, so a
 * patch that changes nothing is enough.
 */
async function renewAgeingBodies(system: PlanningSystem, tasks: readonly Task[], now: number): Promise<void> {
  const isAgeing = (task: Task) =>
    task.state === 'open' && bodiesExpiringBefore(task, now + BODY_ALERT_MS).length > 0
  await isolateEach(system, tasks.filter(isAgeing), TASKS_AT_ONCE_MAX, seen =>
    transact(system, seen, current =>
      current?.born === seen.born
        ? patch(current, {}, now)
        : { ok: false as const, reason: 'finished' as const },
    ),
  )
}

/**
 * The tasks of one shard of a type that this round looks at: those that fell due recently, and the next ones of each pass
 * over open, undoing and running tasks.
 */
async function sweepCandidates(
  system: PlanningSystem,
  { type, configuration: { kind } }: TaskType,
  shard: number,
  backlog: number | undefined,
  now: number,
): Promise<SweepCandidate[]> {
  const open: IndexRange = {
    index: 'view',
    partition: viewPartition(type, 'open', shard),
    to: now - GRACE_MS,
  }
  const undoing = { ...open, partition: viewPartition(type, 'compensating', shard) }
  const recent = (await readRange(system, { ...open, from: now - GRACE_MS - LOOK_BACK_MS }, PAGE_TASKS)).map(
    task => ({
      task,
      unreadSince: now,
      readOnceSince: now,
    }),
  )
  const passed = await readNextInPass(
    system,
    sweepRecord.open(type, shard),
    open,
    // Flows wait in the queues of their steps' types, and most of these are empty most of the time.
    backlog === 0 || kind === 'flow' ? TASKS_BUDGET.emptyQueue : TASKS_BUDGET.backlog,
  )
  const undoingTasks =
    kind === 'flow'
      ? await readNextInPass(system, sweepRecord.undoing(type, shard), undoing, TASKS_BUDGET.backlog)
      : []
  const running: IndexRange = { index: 'place', partition: runningPlace(type, shard) }
  const runs = await readNextInPass(system, sweepRecord.running(type, shard), running, TASKS_BUDGET.backlog)
  return [...recent, ...passed, ...undoingTasks, ...runs]
}

async function readRange(system: PlanningSystem, range: IndexRange, limit: number): Promise<Task[]> {
  const page = await system.tasks.page({ ...range, limit })
  return readTasks(
    system,
    page.entries.map(({ id }) => id),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
