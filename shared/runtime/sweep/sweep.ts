/**
 * The sweeper runs once a minute and repairs what lost messages and dead processes leave. This file plans again each task
 * that fell due and shows no sign of having been looked at. The others sweep far minutes, report stuck tasks, and read on
 * from a cursor.
 */
import { LOOK_SLACK_MS, MESSAGE_LIFE_MS } from '../../core/bounds.ts'
import { patch } from '../../core/operate/patch.ts'
import { startsAt } from '../../core/place/place.ts'
import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import { plan } from '../../core/plan/plan.ts'
import { bodiesExpiringBefore } from '../../core/task/body.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { sweepCanvases } from '../canvas/sweep-canvases.ts'
import { sweepPurges } from '../jobs/sweep-purges.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import { transact } from '../kernel/kernel.ts'
import { BODY_ALERT_MS } from '../kernel/living-bodies.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepLimits } from '../limits/serve-limit-looks.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'
import { areCallbacksWorthRetrying, publishOwedCallbacks } from '../plan/publish-callbacks.ts'
import { sweepSchedules } from '../schedule/sweep-schedules.ts'
import { sweepTypeChanges } from '../types/apply-type-change.ts'
import { type StateReader, servingStateReader } from '../types/serving-states.ts'
import { tasksWithoutMarkers } from '../worker/targets.ts'
import { reportStuck } from './stuck-tasks.ts'
import { type CheckedMinutes, sweepMinutes } from './sweep-minutes.ts'
import { readNextInPass, type SweepCandidate } from './sweep-passes.ts'

/** What fell due this long ago and still shows no sign of life has lost its message. */
const GRACE_MS = 10_000
/** Rounds come every minute; looking back further than one covers a round that was lost. */
const WINDOW_MS = 180_000
/**
 * A task found waiting is sent again for certain up to this age and until two passes have read it, then ever more rarely: its
 * message is probably just waiting, and what cannot be claimed at all (a handler that does not start) must not multiply.
 * Behind a backlog the first of these sends comes only after the second time, and one pass is enough.
 */
const CERTAIN_MS = 120_000
const BACKLOG_PATIENCE_MS = 600_000
/**
 * Where the queue is empty, rarely ends here: every tenth look, and a look comes every minute while not more wait than
 * a round can read. What every worker there is refuses (too old, or its part done) so finds one that comes within some
 * ten minutes. Its price per task and ten minutes is one message, which those who refuse it pass on between them up to
 * ten times.
 */
const LEAST_SHARE = 0.1
/** A type that no round has got through for so long has missed some. */
const MISSED_MS = 150_000
const TYPES_AT_ONCE = 4
const TASKS_AT_ONCE = 25
/** Tasks read per type, shard and round: where the queue is empty, and where a healthy backlog waits. */
const BUDGET = { emptyQueue: 500, backlog: 50 }
const PAGE = 100

/** The rounds that this process has got through, by type: the last one, and since when none was missed. */
export type SweepRounds = Map<string, { readonly since: number; readonly last: number }>

export type SweepReport = { readonly looked: number; readonly repaired: number; readonly failed: number }

/**
 * One round of the safety net: finds open tasks whose message was lost and plans them again. Its cost is bounded per
 * type and round however many tasks wait: what recently fell due is read once, the rest from a cursor, a budget at a
 * time. A type that cannot be swept harms no other.
 *
 * `rounds` is kept from round to round by its process: how long a task has waited counts from when a round could have
 * found it. Left out, no round counts as missed. So are `minutes`: far minutes that were seen to.
 */
export async function sweep(
  system: PlanningSystem,
  rounds?: SweepRounds,
  minutes: CheckedMinutes = new Set(),
): Promise<SweepReport> {
  const types = rotated(await system.types.list(), system.chance.fraction())
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
  const reports = await sideBySide(types, TYPES_AT_ONCE, type =>
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

/** Begins anywhere, so that no type is always the last when the time runs out. */
function rotated<T>(list: readonly T[], share: number): T[] {
  const start = Math.floor(list.length * share)
  return [...list.slice(start), ...list.slice(0, start)]
}

/** What the types of one round share; each adds the tasks that it has seen. */
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
  const suspected = new Map<string, SweepCandidate>()
  for (const shard of shardNumbers(type)) {
    for (const one of await suspects(system, type, shard, backlog, now)) {
      suspected.set(one.task.id, leastRead(one, suspected.get(one.task.id)))
    }
  }
  const seen = [...suspected.values()].map(({ task }) => task)
  round.seen.push(...seen)
  const sweptSince = rounds ? unbrokenSince(rounds, type.type, now) : 0
  const lost = await lostOnes(system, [...suspected.values()], round, sweptSince)
  await keepBodies(system, seen, now)
  const again = seen.filter(task => areCallbacksWorthRetrying(task, round.typesChangedAt, now))
  const unplanned = await isolateFaults(planTasks, system, lost)
  const failures = [...unplanned, ...(await isolateFaults(publishOwedCallbacks, system, again))]
  await sweepLimits(system, seen)
  if (lost.length > 0) {
    system.metrics.add('SweeperRepaired', lost.length, type.type)
    system.log.warn('sent again what had got lost', {
      type: type.type,
      tasks: lost.length,
      first: lost[0]?.id,
    })
  }
  // What is refused for good fails in every round: the round got through all the same.
  if (!failures.some(({ transient }) => transient)) rounds?.set(type.type, { since: sweptSince, last: now })
  const unrepaired = new Set(unplanned.map(({ id }) => id))
  const repaired = lost.filter(({ id }) => !unrepaired.has(id)).length
  return { looked: seen.length, repaired, failed: failures.length }
}

/** A task that stands in several partitions counts as read by the passes over the one where it was read least. */
function leastRead(one: SweepCandidate, other: SweepCandidate = one): SweepCandidate {
  return {
    task: one.task,
    unreadSince: Math.min(one.unreadSince, other.unreadSince),
    readOnceSince: Math.min(one.readOnceSince, other.readOnceSince),
  }
}

/** Since when no round has been missed; now, when the last ones were. */
function unbrokenSince(rounds: SweepRounds, type: string, now: number): number {
  const known = rounds.get(type)
  return known && now - known.last <= MISSED_MS ? known.since : now
}

/**
 * A task that waits untouched for weeks must not lose its input: any transition renews ageing bodies, so a patch of
 * nothing does.
 */
async function keepBodies(system: PlanningSystem, tasks: readonly Task[], now: number): Promise<void> {
  const isAgeing = (task: Task) =>
    task.state === 'open' && bodiesExpiringBefore(task, now + BODY_ALERT_MS).length > 0
  await isolateEach(system, tasks.filter(isAgeing), TASKS_AT_ONCE, seen =>
    transact(system, seen, current =>
      current?.born === seen.born
        ? patch(current, {}, now)
        : { ok: false as const, reason: 'finished' as const },
    ),
  )
}

/** The open tasks of one partition that this round looks at. */
async function suspects(
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
  const recent = (await readRange(system, { ...open, from: now - GRACE_MS - WINDOW_MS }, PAGE)).map(task => ({
    task,
    unreadSince: now,
    readOnceSince: now,
  }))
  const rest = await readNextInPass(
    system,
    `open#${type}#${shard}`,
    open,
    // Flows wait in the queues of their steps' types, most of which are empty most of the time.
    backlog === 0 || kind === 'flow' ? BUDGET.emptyQueue : BUDGET.backlog,
  )
  const undone =
    kind === 'flow' ? await readNextInPass(system, `undoing#${type}#${shard}`, undoing, BUDGET.backlog) : []
  const running: IndexRange = { index: 'place', partition: runningPlace(type, shard) }
  const runs = await readNextInPass(system, `running#${type}#${shard}`, running, BUDGET.backlog)
  return [...recent, ...rest, ...undone, ...runs]
}

/** The tasks that should have been looked at or marked, and were not. */
async function lostOnes(
  system: PlanningSystem,
  suspects: readonly SweepCandidate[],
  { stateOf, paused }: Pick<Round, 'stateOf' | 'paused'>,
  sweptSince: number,
): Promise<Task[]> {
  const now = system.clock.now()
  const quiet = suspects.filter(({ task }) => task.updatedAt <= now - GRACE_MS)
  const judged = await isolateEach(
    system,
    quiet,
    quiet.length,
    async ({ task, unreadSince, readOnceSince }) => {
      const { type, kind } = workOf(task)
      const { backlog, handlerSince } = await stateOf(type, kind)
      // A pause drops dispatches; its end sends them again.
      const isHeld = paused.has(type) || paused.has(task.type)
      const state = {
        backlog: isHeld ? undefined : backlog,
        waitingSince: Math.max(handlerSince, sweptSince),
        unreadMs: now - unreadSince,
        readOnceMs: now - readOnceSince,
      }
      return { task, isUnsent: isWorthSending(task, state, now, system.chance.fraction()) }
    },
  )
  const unsent = judged.filter(({ isUnsent }) => isUnsent).map(({ task }) => task)
  const due = judged.map(({ task }) => task).filter(({ dueAt }) => dueAt <= now - GRACE_MS)
  return [...new Set([...unsent, ...(await tasksWithoutMarkers(system, due))])]
}

type Waiting = {
  readonly backlog: number | undefined
  readonly waitingSince: number
  /** A task that has waited no longer than this may not have been read by an earlier pass, */
  readonly unreadMs: number
  /** or was read by one of them at most. */
  readonly readOnceMs: number
}

/**
 * Whether the task should have been looked at and was not, so that its messages are worth sending again. Where no
 * handler is deployed nothing can be dispatched. `chance` is 0 to 1.
 */
function isWorthSending(
  task: Task,
  { backlog, waitingSince, unreadMs, readOnceMs }: Waiting,
  now: number,
  chance: number,
): boolean {
  const { dispatchAt, lookAt, publishesCallbacks: settles } = plan(task, now)
  if (settles) return true
  if (lookAt !== undefined && lookAt + LOOK_SLACK_MS < now - GRACE_MS) return true
  if (dispatchAt === undefined || startsAt(task) > now - GRACE_MS || backlog === undefined) return false
  const age = now - Math.max(startsAt(task), task.updatedAt, waitingSince)
  if (age > MESSAGE_LIFE_MS) return true
  if (backlog === 0) return age <= readOnceMs || chance < Math.max(LEAST_SHARE, CERTAIN_MS / age)
  // A pass that read the task before its patience was over let it wait.
  const isUnread = age <= BACKLOG_PATIENCE_MS + unreadMs
  return age >= BACKLOG_PATIENCE_MS && (isUnread || chance < BACKLOG_PATIENCE_MS / age)
}

async function readRange(system: PlanningSystem, range: IndexRange, limit: number): Promise<Task[]> {
  const page = await system.tasks.page({ ...range, limit })
  return system.tasks.heads(page.entries.map(({ id }) => id))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
