import { LOOK_SLACK_MS, MESSAGE_LIFE_MS } from '../../core/bounds.ts'
import { claim } from '../../core/run/claim.ts'
import { isQuiet, isStuck, statusReasonOf, type WaitFacts } from '../../core/status.ts'
import { isTakenInOrder, workOf } from '../../core/task/piece.ts'
import { isTargeted, liveRuns, type Task } from '../../core/task/task.ts'
import { servingType } from '../../core/types/task-type.ts'
import { groupBy } from '../../core/values/values.ts'
import { plan } from '../../core/wake.ts'
import type { Worker } from '../../core/worker.ts'
import { isolateEach } from '../kernel/heads.ts'
import type { PlanningSystem, System } from '../kernel/system.ts'
import { cachedLimitReader } from '../limits/limit-usage.ts'
import { isBehindLine } from '../limits/line.ts'
import { readServed, type StatusReaders } from '../read/served.ts'
import type { SweepCandidate } from '../repair.ts'
import { tasksWithoutMarkers } from '../worker/worker.ts'
import type { StateReader, SweepRound, TypeState } from './sweep-round.ts'

/** A message may be this late. Only a task that became due, and was last changed, longer ago may have lost its message. */
export const GRACE_MS = 10_000

/** SQS keeps no strict order. A message may arrive later than others by this much and still wait in its queue. */
export const DISORDER_MS = 60_000

/**
 * The message of a task whose turn in its queue is not known is first sent again at this age. Its turn is known where the queue has
 * delivered messages that were sent later.
 */
const UNKNOWN_TURN_MS = 600_000

/** Looks are sent again in every round for this long, because no measure says whether they wait in their queue. */
const LOOKS_CERTAIN_MS = 600_000

/** A task in an empty queue is always sent again up to this age, and until two passes have read it. */
const RESEND_CERTAIN_MS = 120_000

/**
 * Where the queue is empty, the sweeper sends a waiting task at every tenth reading, on average. So a task that all present workers
 * refuse (too old a version, or their part done) finds a new worker within some ten minutes. The price per task and ten minutes
 * is one message, which refusing workers return to the queue up to ten times.
 */
const RESEND_SHARE_MIN = 0.1
/** Where a round reads more tasks of a shard than this, it sends each of them more rarely. */
const RESEND_CROWD = 500

/** The tasks that should have been looked at or marked, and were not. */
export async function lostTasks(
  system: PlanningSystem,
  candidates: readonly SweepCandidate[],
  { stateOf, paused }: { readonly stateOf: StateReader; readonly paused: ReadonlySet<string> },
  sweptSince: number,
): Promise<Task[]> {
  const now = system.clock.now()
  const quiet = candidates.filter(({ task }) => task.updatedAt <= now - GRACE_MS)
  const thinning = Math.min(1, RESEND_CROWD / quiet.length)
  const judged = await isolateEach(system, quiet, quiet.length, async candidate => {
    const { task } = candidate
    const { type, kind } = workOf(task)
    // A pause drops dispatches, and its end sends them again.
    const isPaused = paused.has(type) || paused.has(task.type)
    // Looks at the line of a limit send the tickets of the tasks behind it.
    const isDispatched = !isPaused && !(await isBehindLine(system, task))
    const state = isDispatched ? await stateOf(type, kind) : undefined
    const isTaskLost = system.chance.fraction() < lossOf(candidate, { state, sweptSince, thinning }, now)
    return { task, isTaskLost }
  })
  const lost = judged.filter(({ isTaskLost }) => isTaskLost).map(({ task }) => task)
  const due = judged.map(({ task }) => task).filter(({ dueAt }) => dueAt <= now - GRACE_MS)
  return [...new Set([...lost, ...(await tasksWithoutMarkers(system, due))])]
}

type Circumstances = {
  /** Undefined while a type is paused, and for tasks that looks at a limit dispatch. */
  readonly state: TypeState | undefined
  readonly sweptSince: number
  /** By this factor, from 0 to 1, tasks that were sent before are sent more rarely. */
  readonly thinning: number
}

/**
 * How likely the task should have been looked at and was not, from 0 to 1, so that its messages are worth sending again. Something
 * that fell due before the last missed round of the sweeper counts as due since then.
 */
function lossOf(
  candidate: SweepCandidate,
  { state, sweptSince, thinning }: Circumstances,
  now: number,
): number {
  const { task, readOnceSince } = candidate
  const { dispatchAt, lookAt, publishesCallbacks } = plan(task, now)
  if (publishesCallbacks) return 1
  if (lookAt !== undefined && lookAt + LOOK_SLACK_MS < now - GRACE_MS) {
    const late = now - Math.max(lookAt, sweptSince)
    const isNew = late <= Math.max(LOOKS_CERTAIN_MS, now - readOnceSince)
    return isNew ? 1 : thinning * Math.max(RESEND_SHARE_MIN, LOOKS_CERTAIN_MS / late)
  }
  if (dispatchAt === undefined || task.dueAt > now - GRACE_MS || state?.backlog === undefined) return 0
  return lossOfDispatch(candidate, state, { sweptSince, thinning }, now)
}

/**
 * Where messages wait in the queue, a lost dispatch is always sent once its turn is over: by two passes where the queue has
 * delivered later messages, else by one pass.
 */
function lossOfDispatch(
  { task, unreadSince, readOnceSince }: SweepCandidate,
  { backlog, delivered, handlerSince }: TypeState,
  { sweptSince, thinning }: Pick<Circumstances, 'sweptSince' | 'thinning'>,
  now: number,
): number {
  const sentAt = Math.max(task.dueAt, task.updatedAt, handlerSince)
  const age = now - Math.max(sentAt, sweptSince)
  if (backlog === 0) {
    const isNew = age <= now - readOnceSince
    return isNew ? 1 : thinning * Math.max(RESEND_SHARE_MIN, RESEND_CERTAIN_MS / age)
  }
  const isPassed = delivered && !isTakenInOrder(task) && sentAt < delivered.sentAt - DISORDER_MS
  const overMs = isPassed
    ? now - Math.max(sentAt + delivered.at - delivered.sentAt + DISORDER_MS, sweptSince)
    : age - UNKNOWN_TURN_MS
  if (overMs < 0) return 0
  return overMs <= now - (isPassed ? readOnceSince : unreadSince) ? 1 : again(age, now - unreadSince)
}

/**
 * How likely a task is sent again that an earlier pass has sent. Its message probably waits in the queue and must not be multiplied,
 * whatever keeps it there for days. So the task is sent once, on average, while its age grows by the factor e, and later once in the
 * life of a message. `sinceMs`: the time since the earlier pass.
 */
function again(age: number, sinceMs: number): number {
  if (age < MESSAGE_LIFE_MS) return sinceMs / age
  return Math.floor(age / MESSAGE_LIFE_MS) > Math.floor((age - sinceMs) / MESSAGE_LIFE_MS) ? 1 : 0
}

/** One log line names at most this many ids. */
const IDS_LOGGED_MAX = 10

/** The tasks on which the report of stuck tasks depends: those without a sign of life, and one that runs of each type. */
export async function withoutSignOfLife(system: System, tasks: readonly Task[]): Promise<Task[]> {
  const now = system.clock.now()
  const runs = new Map<string, Task>()
  const quiet = await isolateEach(system, tasks, 1, async task => {
    if (liveRuns(task).length > 0) runs.set(workOf(task).type, task)
    return isQuiet(task, now) ? task : []
  })
  return [...new Set([...quiet.flat(), ...runs.values()])]
}

/**
 * Counts and logs the stuck tasks among those that a round of the sweeper has read. It reads no tasks, and
 * reads the live workers only if a task shows no sign of life. The sweeper has sent the messages of a stuck
 * task again and again without effect, so the task needs an operator.
 */
export async function reportStuck(round: SweepRound, tasks: readonly Task[]): Promise<void> {
  const { system } = round
  const now = system.clock.now()
  const quiet = (await isolateEach(system, tasks, 1, async task => (isQuiet(task, now) ? task : []))).flat()
  if (quiet.length === 0) return
  try {
    const waitOf = waitReader(round, tasks)
    const judged = await isolateEach(system, quiet, quiet.length, async task =>
      isStuck(task, await waitOf(task), now) ? [task] : [],
    )
    for (const [type, stuck] of groupBy(judged.flat(), task => task.type)) reportType(system, type, stuck)
  } catch (error) {
    system.log.error('the search for stuck tasks failed', { error })
  }
}

function reportType({ metrics, log }: System, type: string, tasks: readonly Task[]): void {
  metrics.add('Stuck', tasks.length, type)
  log.warn('tasks are stuck: nothing delays them, and no worker runs them', {
    type,
    tasks: tasks.length,
    ids: tasks.slice(0, IDS_LOGGED_MAX).map(({ id }) => id),
  })
}

function waitReader(round: SweepRound, tasks: readonly Task[]): (task: Task) => Promise<WaitFacts> {
  const { system, stateOf, memory } = round
  const types = new Map(round.types.map(type => [type.type, type]))
  const workers = onlyOnce(() => system.workers.list())
  const readers: StatusReaders = {
    typeOf: async name => types.get(name),
    limitHolding: cachedLimitReader(system),
    liveWorkers: workers,
  }
  const typesAtWork = new Set(tasks.filter(task => liveRuns(task).length > 0).map(task => workOf(task).type))
  return async task => {
    const { type, kind } = workOf(task)
    const now = system.clock.now()
    const involved = [task.type, type].flatMap(name => types.get(name) ?? [])
    const served = await readServed(readers, task)
    const isOverHttp = kind === 'http' && !isTargeted(task)
    const isByWorkers = types.get(servingType(type, kind))?.servedBy === 'workers'
    const liveWorkers = isOverHttp || isByWorkers ? await workers() : []
    const fitting = liveWorkers.filter(worker => canClaim(worker, task, now))
    const { backlog = 0, handlerSince } = await stateOf(type, kind)
    return {
      reason: statusReasonOf(task, now, served),
      isPaused: involved.some(({ paused }) => paused),
      isBehindOthers: isOverHttp ? typesAtWork.has(type) : backlog > 0,
      since: Math.max(
        memory.rounds?.get(task.type)?.since ?? 0,
        handlerSince,
        ...involved.map(({ updatedAt }) => updatedAt),
        fitting.length > 0 ? Math.min(...fitting.map(({ startedAt }) => startedAt)) : 0,
      ),
    }
  }
}

function canClaim(worker: Worker, task: Task, now: number): boolean {
  const { type, kind } = workOf(task)
  return worker.types.includes(servingType(type, kind)) && claim(task, worker, now).ok
}

function onlyOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}
