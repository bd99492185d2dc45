import { patch } from '../../core/operate/patch.ts'
import { runningPlace } from '../../core/place/place.ts'
import { sweepRecord } from '../../core/record-names.ts'
import type { Task } from '../../core/task/task.ts'
import { mayHaveFlows, orderingOf, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { readEntries, sideBySide } from '../kernel/heads.ts'
import type { PlanningSystem } from '../kernel/system.ts'
import { sweepLimits } from '../limits/begin-looks.ts'
import { viewRange } from '../place/ready.ts'
import { isolateFaults, planTasks } from '../plan/plan.ts'
import { areCallbacksWorthRetrying, publishCallbacksOfTasks } from '../plan/publish-callbacks.ts'
import type { SweepCandidate, SweepReport } from '../repair.ts'
import { NOTHING_SWEPT, readNextInPass, renewAgeingBodies, sumOf } from '../repair.ts'
import { followEach } from '../types/change-type.ts'
import { DISORDER_MS, GRACE_MS, lostTasks, withoutSignOfLife } from './lost-tasks.ts'
import { noRoundMissedSince, type SweepRound, type TasksBudget } from './sweep-round.ts'

/** Rounds come every minute, so looking back further than one minute covers a lost round. */
const LOOK_BACK_MS = 180_000
const TYPES_AT_ONCE_MAX = 4
const RENEWALS_AT_ONCE_MAX = 25
const RECENT_TASKS_MAX = 100

/** A report with the tasks that stuck ones may be among. */
export type TasksReport = SweepReport & { readonly tasks: readonly Task[] }

/**
 * One round of the safety net for tasks: finds open tasks whose message was lost and plans them again. Its cost per type and round is
 * bounded however many tasks wait: recently due tasks are read once, the rest from a cursor, a budget at a time. A type that cannot be
 * swept does not affect the others. Types that are not begun before `stopAt` are left to the next round, which begins with another type.
 */
export async function sweepTasks(round: SweepRound, stopAt: number): Promise<TasksReport> {
  const reports = await sideBySide(round.types, TYPES_AT_ONCE_MAX, async type =>
    round.system.clock.now() < stopAt ? sweepType(round, type) : { ...NOTHING_SWEPT, tasks: [] },
  )
  return joined(reports)
}

function joined(reports: readonly TasksReport[]): TasksReport {
  return { ...sumOf(reports), tasks: reports.flatMap(({ tasks }) => tasks) }
}

async function sweepType(round: SweepRound, type: TaskType): Promise<TasksReport> {
  const { system, memory } = round
  const now = system.clock.now()
  const since = noRoundMissedSince(memory, type.type, now)
  const shards: ShardReport[] = []
  try {
    for (const shard of shardNumbers(type)) shards.push(await sweepShard(round, type, shard, since))
    // A task that is refused for good fails in every round, so the round still counts as finished.
    if (!shards.some(({ isCut }) => isCut)) memory.rounds?.set(type.type, { since, last: now })
    return joined(shards)
  } catch (error) {
    system.log.error('a type was not swept', { type: type.type, error })
    return joined([...shards, { ...NOTHING_SWEPT, failed: 1, tasks: [] }])
  }
}

/** The tasks of one shard that this round looks at, each once. */
async function candidatesOf(round: SweepRound, type: TaskType, shard: number): Promise<SweepCandidate[]> {
  const { system } = round
  const now = system.clock.now()
  const budgetOf = (of: keyof TasksBudget) => Math.ceil(round.budget[of] / shardNumbers(type).length)
  const inPass = (
    name: 'open' | 'later' | 'undoing' | 'running',
    range: IndexRange,
    budget: number,
    known?: ReadonlySet<string>,
  ) => readNextInPass(system, sweepRecord[name](type.type, shard), range, budget, known)
  const until = now - GRACE_MS
  const view = (bucket: 'open' | 'compensating', to: number) => viewRange(type.type, bucket, shard, { to })
  const place: IndexRange = { index: 'place', partition: runningPlace(type.type, shard) }
  const running = await inPass('running', place, budgetOf('running'))
  const known = new Set(running.map(({ task }) => task.id))
  const { to, budget } = await dueRange(round, type, until)
  const found = [
    ...running,
    ...(await inPass('open', view('open', to), budgetOf(budget), known)),
    ...(to < until ? await inPass('later', view('open', until), budgetOf('queued'), known) : []),
    ...(mayHaveFlows(type) ? await inPass('undoing', view('compensating', until), budgetOf('waiting')) : []),
    ...(await readRecent(system, { ...view('open', until), from: until - LOOK_BACK_MS }, now)),
  ]
  const candidates = new Map<string, SweepCandidate>()
  for (const one of found) candidates.set(one.task.id, leastRead(one, candidates.get(one.task.id)))
  return [...candidates.values()]
}

/**
 * How far the pass over due tasks reaches, and its budget. A queue delivers tasks in the order in which they fell due, within a
 * minute. So those that fell due after its present messages need no reading, however many they are.
 */
async function dueRange(
  { stateOf, paused, system }: SweepRound,
  type: TaskType,
  until: number,
): Promise<{ to: number; budget: keyof TasksBudget }> {
  const { kind } = type.configuration
  const { backlog, delivered } = await stateOf(type.type, kind)
  const hasOwnMessages = orderingOf(type) === 'arrival' && !type.isFair && kind !== 'http' && kind !== 'flow'
  if (!hasOwnMessages) return { to: until, budget: 'waiting' }
  if (backlog === 0 && !paused.has(type.type)) return { to: until, budget: 'passed' }
  if (!delivered || paused.has(type.type)) return { to: until, budget: 'queued' }
  const turn = system.clock.now() - (delivered.at - delivered.sentAt) - DISORDER_MS
  return { to: Math.min(until, turn), budget: 'passed' }
}

/** A task may be found by several passes. It counts as read only as often as by the pass that read it least. */
function leastRead(one: SweepCandidate, other: SweepCandidate = one): SweepCandidate {
  return {
    task: one.task,
    unreadSince: Math.min(one.unreadSince, other.unreadSince),
    readOnceSince: Math.min(one.readOnceSince, other.readOnceSince),
  }
}

async function readRecent(system: PlanningSystem, range: IndexRange, now: number): Promise<SweepCandidate[]> {
  const page = await system.tasks.page({ ...range, limit: RECENT_TASKS_MAX })
  const tasks = await readEntries(system, page.entries)
  return tasks.map(task => ({ task, unreadSince: now, readOnceSince: now }))
}

/** `isCut`: a message could not be sent for a reason that may pass. */
type ShardReport = TasksReport & { readonly isCut?: boolean }

/** Repairs what the tasks of one shard have lost: messages, callbacks, bodies that would expire, and looks at limits. */
async function sweepShard(
  round: SweepRound,
  type: TaskType,
  shard: number,
  sweptSince: number,
): Promise<ShardReport> {
  const { system, typesChangedAt } = round
  const candidates = await candidatesOf(round, type, shard)
  const tasks = candidates.map(({ task }) => task)
  const now = system.clock.now()
  const lost = await lostTasks(system, candidates, round, sweptSince)
  const followed = await followEach(system, tasks, new Map(round.types.map(one => [one.type, one])))
  await renewAgeingBodies(system, tasks, RENEWALS_AT_ONCE_MAX, (current, at) => patch(current, {}, at))
  const retried = tasks.filter(task => areCallbacksWorthRetrying(task, typesChangedAt, now))
  const unplanned = await isolateFaults(planTasks, system, lost)
  const failures = [...unplanned, ...(await isolateFaults(publishCallbacksOfTasks, system, retried))]
  await sweepLimits(system, tasks)
  reportLost(system, type.type, lost)
  const unrepaired = new Set(unplanned.map(({ id }) => id))
  return {
    examined: tasks.length,
    repaired: followed + lost.filter(({ id }) => !unrepaired.has(id)).length,
    failed: failures.length,
    tasks: await withoutSignOfLife(system, tasks),
    isCut: failures.some(({ transient }) => transient),
  }
}

function reportLost({ metrics, log }: PlanningSystem, type: string, lost: readonly Task[]): void {
  if (lost.length === 0) return
  metrics.add('SweeperRepaired', lost.length, type)
  log.warn('sent the lost messages of tasks again', { type, tasks: lost.length, first: lost[0]?.id })
}
