import { patch } from '../../core/operate/patch.ts'
import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import { sweepRecord } from '../../core/record-names.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { readTasks } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepLimits } from '../limits/serve-limit-looks.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'
import { areCallbacksWorthRetrying, publishOwedCallbacks } from '../plan/publish-callbacks.ts'
import { renewAgeingBodies } from '../repair/renew-ageing-bodies.ts'
import { NOTHING_SWEPT, type SweepReport, sumOf } from '../repair/repair.ts'
import { followEach } from '../types/follow-types.ts'
import { GRACE_MS, lostTasks } from './lost-tasks.ts'
import { readNextInPass, type SweepCandidate } from './sweep-passes.ts'
import { noRoundMissedSince, type SweepRound } from './sweep-round.ts'

/** Rounds come every minute, so looking back further than one minute covers a lost round. */
const LOOK_BACK_MS = 180_000
const TYPES_AT_ONCE_MAX = 4
const RENEWALS_AT_ONCE_MAX = 25
/** Tasks read per type, shard and round: where the queue is empty, and where a healthy backlog waits. */
const TASKS_BUDGET = { emptyQueue: 500, backlog: 50 }
const RECENT_TASKS_MAX = 100

/** A report with the tasks that were read. */
export type TasksReport = SweepReport & { readonly tasks: readonly Task[] }

/**
 * One round of the safety net for tasks: finds open tasks whose message was lost and plans them again. Its cost per type
 * and round is bounded however many tasks wait: recently due tasks are read once, the rest from a cursor, a
 * budget at a time. A type that cannot be swept does not affect the others.
 */
export async function sweepTasks(round: SweepRound): Promise<TasksReport> {
  const reports = await sideBySide(round.types, TYPES_AT_ONCE_MAX, type => sweepType(round, type))
  return { ...sumOf(reports), tasks: reports.flatMap(({ tasks }) => tasks) }
}

async function sweepType(round: SweepRound, type: TaskType): Promise<TasksReport> {
  const { system } = round
  const now = system.clock.now()
  let tasks: readonly Task[] = []
  try {
    const candidates = await candidatesOf(round, type, now)
    tasks = candidates.map(({ task }) => task)
    return { ...(await repairType(round, type, candidates, now)), tasks }
  } catch (error) {
    system.log.error('a type was not swept', { type: type.type, error })
    return { ...NOTHING_SWEPT, failed: 1, tasks }
  }
}

/** The tasks of all shards that this round looks at, each once. */
async function candidatesOf(
  { system, stateOf }: SweepRound,
  type: TaskType,
  now: number,
): Promise<SweepCandidate[]> {
  const { backlog } = await stateOf(type.type, type.configuration.kind)
  const candidates = new Map<string, SweepCandidate>()
  for (const shard of shardNumbers(type)) {
    for (const one of await candidatesOfShard(system, type, shard, backlog, now)) {
      candidates.set(one.task.id, leastRead(one, candidates.get(one.task.id)))
    }
  }
  return [...candidates.values()]
}

/** A task may be found by several passes. It counts as read only as often as by the pass that read it least. */
function leastRead(one: SweepCandidate, other: SweepCandidate = one): SweepCandidate {
  return {
    task: one.task,
    unreadSince: Math.min(one.unreadSince, other.unreadSince),
    readOnceSince: Math.min(one.readOnceSince, other.readOnceSince),
  }
}

/** The tasks of one shard that fell due recently, and the next ones of each pass over open, undoing and running tasks. */
async function candidatesOfShard(
  system: PlanningSystem,
  { type, wasFlow, configuration: { kind } }: TaskType,
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
  const running: IndexRange = { index: 'place', partition: runningPlace(type, shard) }
  // Flows wait in the queues of their steps' types, and most of these are empty most of the time.
  const isQueueEmpty = backlog === 0 || kind === 'flow'
  const budget = isQueueEmpty ? TASKS_BUDGET.emptyQueue : TASKS_BUDGET.backlog
  const inPass = (record: string, range: IndexRange, most = TASKS_BUDGET.backlog) =>
    readNextInPass(system, record, range, most)
  return [
    ...(await readRecent(system, { ...open, from: now - GRACE_MS - LOOK_BACK_MS }, now)),
    ...(await inPass(sweepRecord.open(type, shard), open, budget)),
    ...(kind === 'flow' || wasFlow ? await inPass(sweepRecord.undoing(type, shard), undoing) : []),
    ...(await inPass(sweepRecord.running(type, shard), running)),
  ]
}

async function readRecent(system: PlanningSystem, range: IndexRange, now: number): Promise<SweepCandidate[]> {
  const page = await system.tasks.page({ ...range, limit: RECENT_TASKS_MAX })
  const tasks = await readTasks(
    system,
    page.entries.map(({ id }) => id),
  )
  return tasks.map(task => ({ task, unreadSince: now, readOnceSince: now }))
}

/** Repairs what the tasks of one type have lost: messages, callbacks, bodies that would expire, and looks at limits. */
async function repairType(
  round: SweepRound,
  { type }: TaskType,
  candidates: readonly SweepCandidate[],
  now: number,
): Promise<SweepReport> {
  const { system, memory, typesChangedAt } = round
  const tasks = candidates.map(({ task }) => task)
  const sweptSince = noRoundMissedSince(memory, type, now)
  const lost = await lostTasks(system, candidates, round, sweptSince)
  const followed = await followEach(system, tasks, new Map(round.types.map(one => [one.type, one])))
  await renewAgeingBodies(system, tasks, RENEWALS_AT_ONCE_MAX, (current, at) => patch(current, {}, at))
  const retried = tasks.filter(task => areCallbacksWorthRetrying(task, typesChangedAt, now))
  const unplanned = await isolateFaults(planTasks, system, lost)
  const failures = [...unplanned, ...(await isolateFaults(publishOwedCallbacks, system, retried))]
  await sweepLimits(system, tasks)
  reportLost(system, type, lost)
  // A task that is refused for good fails in every round, so the round counts as finished all the same.
  if (!failures.some(({ transient }) => transient)) memory.rounds?.set(type, { since: sweptSince, last: now })
  const unrepaired = new Set(unplanned.map(({ id }) => id))
  const repaired = followed + lost.filter(({ id }) => !unrepaired.has(id)).length
  return { examined: tasks.length, repaired, failed: failures.length }
}

function reportLost({ metrics, log }: PlanningSystem, type: string, lost: readonly Task[]): void {
  if (lost.length === 0) return
  metrics.add('SweeperRepaired', lost.length, type)
  log.warn('sent the lost messages of tasks again', { type, tasks: lost.length, first: lost[0]?.id })
}
