import { runningPlace } from '../../core/place/place.ts'
import type { TypeKind } from '../../core/states.ts'
import { isTakenInOrder } from '../../core/task/piece.ts'
import { endedRuns, isTargeted, liveRuns, type Task } from '../../core/task/task.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import { readTasks } from '../kernel/heads.ts'
import type { PlanningSystem, System } from '../kernel/system.ts'
import { viewRange } from '../place/ready.ts'

/** A type that no round has finished for this long has missed some rounds. */
const ROUND_MISSED_MS = 150_000

/** For each type, when this process last finished a round, and since when it has missed none. */
type SweepRounds = Map<string, { readonly since: number; readonly last: number }>

/**
 * Tasks read per type and round, however many shards it has.
 *
 * - `running`     so that one round reads 10,000 running tasks, though ids are not spread quite evenly over the shards
 * - `passed`      due tasks whose message the queue must have delivered by now: most of them run, and the others have lost their
 *                 message. Tasks in the running place are left out, so what is left began in the last seconds, or its run is dead
 * - `waiting`     due tasks without a message of their own in a queue: over HTTP, in an order, at steps of flows; undoing flows
 * - `queued`      due tasks whose message should still wait in its queue, or cannot be sent yet
 */
export type TasksBudget = Readonly<Record<'running' | 'passed' | 'waiting' | 'queued', number>>

const TASKS_BUDGET: TasksBudget = { running: 12_000, passed: 6_000, waiting: 2_000, queued: 200 }

export type SweepMemory = {
  /**
   * They show since when no round was missed. A task that became due before that time counts as waiting only since then.
   * Undefined: no round counts as missed.
   */
  readonly rounds?: SweepRounds
  /** The far minutes that were checked already. */
  readonly minutes: Set<number>
}

export function createSweepMemory(): Required<SweepMemory> {
  return { rounds: new Map(), minutes: new Set() }
}

/** What the repairs of one round share. A repair changes nothing of it but its own part of `memory`. */
export type SweepRound = {
  readonly system: PlanningSystem
  /** All types, beginning with a random one, so that none is always the last when the time runs out. */
  readonly types: readonly TaskType[]
  /** When any type was changed last. */
  readonly typesChangedAt: number
  readonly paused: ReadonlySet<string>
  /** Measures each queue once per round. */
  readonly stateOf: StateReader
  readonly memory: SweepMemory
  readonly budget: TasksBudget
}

export async function beginRound(
  system: PlanningSystem,
  memory: SweepMemory,
  budget = TASKS_BUDGET,
): Promise<SweepRound> {
  const types = rotate(await system.types.list(), system.chance.fraction())
  return {
    system,
    types,
    typesChangedAt: Math.max(0, ...types.map(({ updatedAt }) => updatedAt)),
    paused: new Set(types.filter(({ paused }) => paused).map(({ type }) => type)),
    stateOf: servingStateReader(system, types),
    memory,
    budget,
  }
}

function rotate<T>(list: readonly T[], share: number): T[] {
  const start = Math.floor(list.length * share)
  return [...list.slice(start), ...list.slice(0, start)]
}

/** The time since which no round of the type was missed. It is `now` when the last rounds were missed. */
export function noRoundMissedSince({ rounds }: SweepMemory, type: string, now: number): number {
  if (!rounds) return 0
  const known = rounds.get(type)
  return known && now - known.last <= ROUND_MISSED_MS ? known.since : now
}

/**
 * The state of the type whose handler runs the tasks: the number of messages in its queue (undefined without a
 * queue), the time since which it has a handler, and while messages wait, what its queue has delivered lately.
 */
export type TypeState = {
  readonly backlog: number | undefined
  readonly handlerSince: number
  readonly delivered?: Delivered
}

/** A message that was sent at `sentAt` has led to a run that started at `at`. */
type Delivered = { readonly sentAt: number; readonly at: number }

export type StateReader = (type: string, kind: TypeKind) => Promise<TypeState>

/** Creates a reader that measures each queue once per round, although the steps of many flows wait in it. */
function servingStateReader(
  system: Pick<System, 'messages' | 'tasks'>,
  types: readonly TaskType[],
): StateReader {
  const read = new Map<string, Promise<TypeState>>()
  return (type, kind) => {
    const serving = servingType(type, kind)
    const known = read.get(serving)
    if (known) return known
    const hasQueue = kind === 'handler' || kind === 'webhook'
    const handlerSince = types.find(one => one.type === serving)?.handlerSince ?? 0
    const state = (async () => {
      const backlog = hasQueue ? await system.messages.backlog(serving) : undefined
      const delivered = backlog ? await readDelivered(system, type) : undefined
      return { backlog, handlerSince, ...(delivered && { delivered }) }
    })()
    read.set(serving, state)
    return state
  }
}

const STARTS_READ_MAX = 10

/**
 * Estimates which message the queue of a type delivers now: it takes the tasks that started last, and of these the middle one by due
 * time. SQS has a metric for the age of messages (`ApproximateAgeOfOldestMessage`), but it comes minutes late, and it shows the oldest
 * message even if no worker accepts it. The tasks of one shard suffice, because ids are spread evenly. Tasks that are targeted or taken in
 * order do not count, because no message of their own starts them. Tasks for several workers do not count, because each run has a message.
 */
async function readDelivered(system: Pick<System, 'tasks'>, type: string): Promise<Delivered | undefined> {
  const newest = { limit: STARTS_READ_MAX, descending: true }
  const pages = await Promise.all([
    system.tasks.page({ ...viewRange(type, 'succeeded', 0), ...newest }),
    system.tasks.page({ ...viewRange(type, 'failed', 0), ...newest }),
    system.tasks.page({ index: 'place', partition: runningPlace(type, 0), ...newest }),
  ])
  const ids = pages.flatMap(({ entries }) => entries.map(({ id }) => id))
  const starts = (await readTasks(system, ids)).flatMap(deliveryOf).sort((a, b) => b.at - a.at)
  const last = starts.slice(0, STARTS_READ_MAX).sort((a, b) => a.sentAt - b.sentAt)
  return last[Math.floor(last.length / 2)]
}

function deliveryOf(task: Task): Delivered[] {
  const at = Math.max(0, ...[...endedRuns(task), ...liveRuns(task)].map(({ startedAt }) => startedAt))
  const isForOne = task.options.concurrency === 1 && !isTargeted(task)
  return at < task.dueAt || !isForOne || isTakenInOrder(task) ? [] : [{ sentAt: task.dueAt, at }]
}
