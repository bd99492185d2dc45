import { evaluate } from '../../core/canvas/standing.ts'
import { canMissMessage, isMissing, type LostMessage } from '../../core/dead-letters.ts'
import { shardsOf } from '../../core/limits/limits.ts'
import { limitPlace, orderOf, readyPlace, runningPlace, viewPartition } from '../../core/place/place.ts'
import { isGone } from '../../core/publish.ts'
import type { MemberFacts, TaskReason, WhyFacts } from '../../core/status.ts'
import { isQuiet, lastRunOf, readyReason, statusOf, whyReasonOf } from '../../core/status.ts'
import { isTask } from '../../core/task/head.ts'
import { CANVAS_TYPE, type Canvas } from '../../core/task/head-fields.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { isTakenInOrder, rulingTypes, workOf } from '../../core/task/piece.ts'
import { isTargeted, splitTaskId, type Task, taskId, typeOfLimit } from '../../core/task/task.ts'
import { servingType, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/values.ts'
import { type LoadedCanvas, memberId, readAllEnds, readCanvasOf } from '../canvas/canvas.ts'
import { readHead, sideBySide } from '../kernel/heads.ts'
import type { DiagnosticSystem, System } from '../kernel/system.ts'
import { readServed, type StatusReaders } from './served.ts'

/**
 * Answers why a task waits, runs, or has ended as it has. `core/status.ts` judges; this room reads what
 * it needs.
 *
 * An answer reads at most 10 read units for a task whose head has up to 4 KB, and makes one request to SQS:
 *
 * - the head: 1 unit. The types of the task and of its step: at most 2, cached for a second. The live workers: 1 for some 20.
 * - for a task that is due, the note that its message was given up: half a unit. If there is one, its queue is not read
 * - for a task in a queue, the messages there (SQS) and the oldest open task: half a unit for each of up to 4 partitions
 * - for a task that is taken in order, up to 100 tasks before it: at most 1 unit for each of up to 4 partitions
 * - for a quiet one over HTTP that nothing comes before, whether others run: half a unit for each of up to 4 partitions
 * - for a run without success, its record: at most 3
 * - for a limit, its slots: 1 for each 4 KB; or its permits: 1 for each 8; and up to 100 tasks before it in the line
 *
 * Larger heads cost as many units more as they have 4 KB more, and a concurrency limit one more for each further 8 permits.
 */

export type Why = { readonly status: Status; readonly reason: TaskReason; readonly facts: WhyFacts }

/** Reads why a task waits, runs or has ended. Undefined when there is no such task, or when it was removed. */
export async function readWhy(
  system: DiagnosticSystem,
  readers: StatusReaders,
  id: string,
): Promise<Why | undefined> {
  const task = await readHead(system, id, isTask)
  const now = system.clock.now()
  if (!task || isGone(task, now)) return undefined
  const served = await readServed(readers, task)
  const [types, lostMessage] = await Promise.all([typesOf(readers, task), noteOf(system, task, now)])
  const isOwnTypePaused = types.get(task.type)?.paused ?? false
  const known = whyReasonOf(task, now, served, isOwnTypePaused)
  const isLost = lostMessage !== undefined && isReplaceable(known)
  const queue = known === undefined && !isLost ? await readQueue(system, readers, task, types) : undefined
  const reason = isLost ? 'dead-lettered' : (known ?? readyReason(task, now, { ...EMPTY_QUEUE, ...queue }))
  const facts = await factsOf(system, readers, {
    ...{ task, now, types, reason, queue, lostMessage },
  })
  return { status: statusOf(task, now), reason, facts }
}

/** The note that the message for which the task waits was given up, if there is one and it still holds. */
async function noteOf(
  { deadLetters }: DiagnosticSystem,
  task: Task,
  now: number,
): Promise<LostMessage | undefined> {
  if (!canMissMessage(task, now)) return undefined
  const note = await deadLetters.noteOf(task.id)
  return isMissing(note, task, now) ? note : undefined
}

const EMPTY_QUEUE = { messages: 0, before: 0, isTypeAtWork: false, since: 0 }

/** Whether a lost message says more than this reason. Every other reason would hold back the task with its message, too. */
function isReplaceable(reason: TaskReason | undefined): boolean {
  return reason === undefined || reason === 'running' || reason === 'stuck'
}

async function typesOf({ typeOf }: StatusReaders, task: Task): Promise<ReadonlyMap<string, TaskType>> {
  const types = await Promise.all(rulingTypes(task).map(typeOf))
  return new Map(types.flatMap(type => (type ? [[type.type, type] as const] : [])))
}

type Judged = Pick<WhyFacts, 'task' | 'now' | 'types'> & {
  readonly reason: TaskReason
  readonly queue: QueueFacts | undefined
  readonly lostMessage: LostMessage | undefined
}

/** Reads what the sentence for this reason mentions, and nothing else. */
async function factsOf(
  system: System,
  readers: StatusReaders,
  { reason, queue, lostMessage, ...known }: Judged,
): Promise<WhyFacts> {
  const { task } = known
  const [liveWorkers, lastRun, ofLimit] = await Promise.all([
    NAMES_WORKERS.includes(reason) ? readers.liveWorkers() : [],
    SHOWS_RUN.includes(reason) ? lastRecord(system, task) : undefined,
    reason === 'rate-limit' || reason === 'concurrency-limit'
      ? limitFacts(system, readers, known, reason === 'concurrency-limit')
      : undefined,
  ])
  return { ...known, ...queue, liveWorkers, ...ofLimit, ...defined({ lostMessage, lastRun }) }
}

/** The limit that holds the task back, its permits or its next start, and how many tasks come before it in the line. */
async function limitFacts(
  system: System,
  readers: StatusReaders,
  { task, types }: Pick<WhyFacts, 'task' | 'types'>,
  isForPermits: boolean,
) {
  const holding = await readers.limitHolding(task)
  const limit = task.wait?.limit ?? holding?.limit
  const [permits, before] = await Promise.all([
    isForPermits && limit !== undefined ? system.limits.permits(limit, shardsIn(types, limit)) : undefined,
    task.place ? tasksBefore(system, task, types) : undefined,
  ])
  const nextStartAt = holding?.limit === limit ? holding?.until : undefined
  return defined({ limit, permits, before, nextStartAt })
}

function shardsIn(types: WhyFacts['types'], limit: string): number[] {
  return shardsOf(types.get(typeOfLimit(limit))?.configuration.limits?.concurrency?.max ?? 1)
}

const NAMES_WORKERS: readonly TaskReason[] = ['running', 'target-worker', 'worker-version', 'workers-spent']
const SHOWS_RUN: readonly TaskReason[] = ['retry', 'crashing', 'failed']

/** The newest record of a run without success. Only a head with such a run has records. */
async function lastRecord({ tasks }: System, task: Task) {
  const last = lastRunOf(task)
  if (last === undefined || last.state === 'succeeded') return undefined
  const [record = last] = await tasks.runRecords(task.id, task.born, 1)
  return record.fence === last.fence ? record : last
}

/** The members of a canvas whose ends one answer reads: 8 chunks of 200, one read unit each. */
const COUNTED_MEMBERS_MAX = 1_600

/**
 * Why a member of a canvas is not published. Undefined when the canvas does not exist, or has no member of this id. A larger canvas
 * answers without counts.
 */
export async function readWhyMember(
  system: System,
  id: string,
  canvasId: string,
): Promise<MemberFacts | undefined> {
  const found = await readCanvasOf(system, canvasId)
  const leaf = found && leafOf(found.canvas, id)
  if (!found || leaf === undefined) return undefined
  const { head, canvas } = found
  const facts = await memberFacts(system, canvas, head, leaf)
  return { id, canvasId: taskId(CANVAS_TYPE, head.key), ...facts }
}

function leafOf(canvas: LoadedCanvas, id: string): number | undefined {
  const leaf = Number(splitTaskId(id)?.key.split('.').at(-1))
  return Number.isInteger(leaf) && memberId(canvas, leaf) === id ? leaf : undefined
}

async function memberFacts(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaf: number,
): Promise<Pick<MemberFacts, 'members' | 'ended' | 'state'>> {
  const members = canvas.leaves
  if (head.state === 'cancelled') return { members, state: 'cancelled' }
  if (members > COUNTED_MEMBERS_MAX) return { members, state: head.state === 'open' ? 'pending' : 'skipped' }
  const { endOf } = await readAllEnds(system, canvas)
  const ended = canvas.types.filter((_type, one) => endOf(one) !== undefined).length
  const reach = evaluate(canvas.tree, endOf).reachOf(leaf)
  const state = { waiting: 'pending', ready: 'about-to-start', skipped: 'skipped' } as const
  return { members, ended, state: head.state === 'open' ? state[reach] : 'skipped' }
}

/** What a ready task waits behind, and the time since which all that a run needs exists. */
type QueueFacts = Pick<WhyFacts, 'messages' | 'oldestDueAt' | 'before'> & {
  readonly since: number
  /** Whether tasks of its type run, if that decides whether it is stuck. */
  readonly isTypeAtWork?: boolean
}

/** An answer reads at most this many partitions of an index, so that its cost does not grow with the shards of a type. */
const PARTITIONS_READ_MAX = 4
/** Tasks before a task are counted up to this number. */
const BEFORE_MAX = 100

/** Reads the queue of a ready task, or the tasks that are claimed before it. */
async function readQueue(
  system: System,
  readers: StatusReaders,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<QueueFacts> {
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const [messages, oldestDueAt, before, since] = await Promise.all([
    kind === 'http' || isTargeted(task) ? undefined : system.messages.backlog(serving),
    kind === 'http' || isTargeted(task) ? undefined : oldestOpen(system, type, types),
    isTakenInOrder(task) && !isTargeted(task) ? tasksBefore(system, task, types) : undefined,
    readySince(readers, task, types),
  ])
  const mayBeStuck = kind === 'http' && !isTargeted(task) && !before && isQuiet(task, system.clock.now())
  return {
    since,
    ...(mayBeStuck && { isTypeAtWork: await hasRuns(system, type, types) }),
    ...defined({ messages, oldestDueAt, before }),
  }
}

/** The due time of the open task of the type that was due first, in the partitions that are read. */
async function oldestOpen(
  { tasks, clock }: System,
  type: string,
  types: ReadonlyMap<string, TaskType>,
): Promise<number | undefined> {
  const shards = shardsRead(types, type)
  const entries = await sideBySide(shards, PARTITIONS_READ_MAX, async shard => {
    const partition = viewPartition(type, 'open', shard)
    return (await tasks.page({ index: 'view', partition, to: clock.now(), limit: 1 })).entries
  })
  const dues = entries.flat().map(({ sort }) => Number(sort))
  return dues.length > 0 ? Math.min(...dues) : undefined
}

function shardsRead(types: ReadonlyMap<string, TaskType>, type: string): number[] {
  const known = types.get(type)
  return known ? shardNumbers(known).slice(0, PARTITIONS_READ_MAX) : []
}

/** Whether a task of an HTTP type runs, in the partitions that are read. */
async function hasRuns(
  { tasks }: System,
  type: string,
  types: ReadonlyMap<string, TaskType>,
): Promise<boolean> {
  const shards = shardsRead(types, type)
  const pages = await sideBySide(shards, PARTITIONS_READ_MAX, shard =>
    tasks.page({ index: 'place', partition: runningPlace(type, shard), limit: 1 }),
  )
  return pages.some(({ entries }) => entries.length > 0)
}

/** The number of tasks before the task in its place, up to `BEFORE_MAX`, in the partitions that are read. */
async function tasksBefore(
  { tasks }: System,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<number> {
  const { type, shard: own } = workOf(task)
  const known = types.get(typeOfLimit(task.wait?.limit ?? type))
  const shards = [own, ...(known ? shardNumbers(known) : []).filter(shard => shard !== own)]
  const read = shards.slice(0, PARTITIONS_READ_MAX)
  const to = orderOf(task)
  const placeOf = (shard: number) => (task.wait ? limitPlace(task.wait, shard) : readyPlace(type, shard))
  const pages = await sideBySide(read, PARTITIONS_READ_MAX, async shard => {
    const limit = Math.ceil(BEFORE_MAX / read.length)
    return (await tasks.page({ index: 'place', partition: placeOf(shard), to, limit })).entries
  })
  return Math.min(
    BEFORE_MAX,
    pages.flat().filter(({ id, sort }) => id !== task.id && String(sort) < to).length,
  )
}

/**
 * The time since which the types are as they are, the handler is deployed, and a live worker may take the task. Before 15 minutes
 * after it, the task is not stuck.
 */
async function readySince(
  { liveWorkers }: StatusReaders,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<number> {
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const deployed = types.get(serving)
  const isByWorkers = kind === 'http' || deployed?.servedBy === 'workers'
  const workers = isByWorkers ? await liveWorkers() : []
  const starts = workers.filter(one => one.types.includes(serving)).map(({ startedAt }) => startedAt)
  return Math.max(
    deployed?.handlerSince ?? 0,
    ...[...types.values()].map(({ updatedAt }) => updatedAt),
    starts.length > 0 ? Math.min(...starts) : 0,
  )
}
