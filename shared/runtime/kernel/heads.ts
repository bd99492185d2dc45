import { SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import type { Change } from '../../core/change.ts'
import { bodiesExpiringBefore, type Head, isTask, withBodies } from '../../core/task/head.ts'
import { type Body, bodyExpiry } from '../../core/task/head-fields.ts'
import type { Task } from '../../core/task/task.ts'
import { isCut, type TaskError } from '../../core/task-error/task-error.ts'
import { BatonError, groupBy, isItemFault, isOutage, type Json, messageOf } from '../../core/values/values.ts'
import type { IndexEntry, TaskStore } from '../../ports/stores.ts'
import { logFields } from './log-run-ends.ts'
import { processMemory, type System } from './system.ts'

type Reading = { readonly tasks: Pick<TaskStore, 'head' | 'heads'> }

/** Reads the head under an id, also a tombstone or an expired one. Undefined when the head is of another kind. */
export async function readHead<H extends Head>(
  { tasks }: Reading,
  id: string,
  isOfKind: (head: Head) => head is H,
): Promise<H | undefined> {
  const head = await tasks.head(id)
  return head && isOfKind(head) ? head : undefined
}

/** Reads the task under an id. Undefined for a canvas or a schedule. */
export function readTask(reading: Reading, id: string): Promise<Task | undefined> {
  return readHead(reading, id, isTask)
}

/** Reads the tasks under many ids, as `heads` does: in no order, and eventually consistent. */
export async function readTasks({ tasks }: Reading, ids: readonly string[]): Promise<Task[]> {
  return (await tasks.heads(ids)).filter(isTask)
}

/** Like `readTasks`, for the tasks that an index shows. */
export function readEntries(reading: Reading, entries: readonly IndexEntry[]): Promise<Task[]> {
  const ids = entries.map(({ id }) => id)
  return readTasks(reading, ids)
}

/** Like `readTasks`, in the order of the ids. */
export async function readTasksInOrder(reading: Reading, ids: readonly string[]): Promise<Task[]> {
  const byId = new Map((await readTasks(reading, ids)).map(task => [task.id, task]))
  return ids.flatMap(id => byId.get(id) ?? [])
}

/** A body of an open task is renewed when it would expire within this time, or within the task's retention. */
export const BODY_ALERT_MS = 7 * 86_400_000

/**
 * The change, with bodies that live as long as the head relies on them. A body that would expire earlier is renewed first:
 * for example after a restart late in the retention, or a due time moved by years. Heartbeats and counted successes are
 * left as they are, since they write one run only and do not prolong the task.
 */
export async function withLivingBodies(tasks: TaskStore, change: Change): Promise<Change> {
  const { after, guard } = change
  const isOfOneRun = guard.kind === 'live' || guard.kind === 'counted'
  if (isOfOneRun || after.operation === 'beat' || after.state === 'removed') return change
  const ageing = bodiesExpiringBefore(after, reliedOnUntil(after))
  if (ageing.length === 0) return change
  const expiresAt = bodyExpiry(after.dueAt, after.updatedAt, after.options.retentionMs)
  await Promise.all(ageing.map(({ ref }) => tasks.renewBody(after.id, ref, expiresAt)))
  return { ...change, after: withExpiry(after, new Set(ageing.map(({ ref }) => ref)), expiresAt) }
}

function reliedOnUntil({ state, dueAt, updatedAt, options, expiresAt }: Head): number {
  if (state !== 'open') return expiresAt ?? updatedAt
  return Math.max(dueAt, updatedAt) + Math.max(options.retentionMs, BODY_ALERT_MS)
}

function withExpiry(head: Head, refs: ReadonlySet<string>, expiresAt: number): Head {
  return withBodies(head, body => ('ref' in body && refs.has(body.ref) ? { ...body, expiresAt } : body))
}

/** The value of a body of the task. Undefined when the body is stored apart from the head and has expired. */
export async function bodyValue(
  { tasks }: Pick<System, 'tasks'>,
  taskId: string,
  body: Body,
): Promise<Json | undefined> {
  return 'inline' in body ? body.inline : tasks.body(taskId, body.ref)
}

/** A transaction may be sent again up to ten minutes after its entries were made. The rest is for clocks that differ. */
const BODY_MAY_FOLLOW_MS = 15 * 60_000

/**
 * The value of a body that the task was published with. Undefined when it has expired.
 *
 * @throws BatonError `unavailable` when it is missing and the task is young. A task may be published within a transaction of a
 * user, and DynamoDB makes the items of a transaction visible one after the other. So the body may still follow its head.
 */
export async function publishedBody(
  system: Pick<System, 'tasks' | 'clock'>,
  { id, createdAt }: Pick<Task, 'id' | 'createdAt'>,
  body: Body,
): Promise<Json | undefined> {
  const value = await bodyValue(system, id, body)
  if (value === undefined && system.clock.now() < createdAt + BODY_MAY_FOLLOW_MS) {
    throw new BatonError('unavailable', `an item of ${id} is not stored yet`)
  }
  return value
}

/** The whole error of a failed task. The head keeps a shortened copy; the record of the run keeps all of it. */
export async function fullError(system: Pick<System, 'tasks'>, task: Task): Promise<TaskError> {
  const { error = UNKNOWN_ERROR } = task
  if (!isCut(error)) return error
  const records = await system.tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX)
  return records.find(run => run.error && isShortOf(error, run.error))?.error ?? error
}

const UNKNOWN_ERROR: TaskError = { name: 'Error', message: 'failed' }

function isShortOf(short: TaskError, full: TaskError): boolean {
  return short.name === full.name && full.message.startsWith(short.message.slice(0, -1))
}

/**
 * A fault of one task must not stop the work on other tasks. A fault concerns one task only: for example, the store refuses a write because
 * of its content. The fault is logged, and the task is skipped. An outage concerns all tasks and ends the work.
 */

/**
 * Does `work` for each task, or for each item that names its task, at most `most` at a time. Returns the results; an item
 * with a fault of its own is logged and has no result.
 *
 * @throws the error of an outage.
 */
export async function isolateEach<Item extends Head | { readonly task: Head }, Result>(
  system: Pick<System, 'log' | 'metrics'>,
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = await sideBySide(items, most, async item => {
    try {
      return [await work(item)]
    } catch (error) {
      if (!isItemFault(error)) throw error
      logFault(system, 'task' in item ? item.task : item, error)
      return []
    }
  })
  return results.flat()
}

/** Logs and counts a task's fault. An operator has to look at the task; the work on other tasks continues. */
export function logFault(
  { log, metrics }: Pick<System, 'log' | 'metrics'>,
  task: Pick<Task, 'id' | 'type' | 'traceparent'>,
  error: unknown,
): void {
  metrics.add('TaskFault', 1, task.type)
  log.error('a task is at fault and is skipped; cancel it, remove it, or change it', {
    ...logFields(task),
    error,
  })
}

/** For this long, the process that met a task's fault does not try to claim the task again. */
const FAULT_MEMORY_MS = 60_000
const FAULTS_KNOWN_MAX = 1_000

/** The tasks with known faults, each with the monotonic time until which it is remembered. */
const knownFaults = processMemory(() => new Map<string, number>())

/** Remembers in this process that the task, at its present revision, cannot be written. */
export function rememberFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): void {
  const known = knownFaults(tasks)
  if (known.size >= FAULTS_KNOWN_MAX) known.clear()
  known.set(nameOf(task), clock.monotonic() + FAULT_MEMORY_MS)
}

/** Whether this process lately failed to write the task at its present revision. A changed task is tried again. */
export function isKnownFault({ tasks, clock }: Pick<System, 'tasks' | 'clock'>, task: Task): boolean {
  const until = knownFaults(tasks).get(nameOf(task))
  return until !== undefined && clock.monotonic() < until
}

function nameOf({ id, born, revision }: Task): string {
  return `${id} ${born} ${revision}`
}

/**
 * Why one task of a batch could not be published. That task is refused, and the others are published.
 *
 * @throws the error itself when it does not concern one task only: then the outcome of the publish is not known.
 */
export function faultOf(error: unknown): string {
  if (!isItemFault(error)) throw error
  return messageOf(error)
}

/** A task that could not be planned, by task id, and why. Only a `transient` failure is worth another try. */
export type PlanFailure = { readonly id: string; readonly reason: string; readonly transient: boolean }

/**
 * The failure of one task, by the error that ended its work. By default only an outage is worth another try: an
 * error that repeats at each try would block a shard of the stream. Looks and markers are also worth another try
 * after an unknown error, since only the fault of an item is certain to repeat.
 */
export function failureOf(id: string, error: unknown, transient = isOutage(error)): PlanFailure {
  return { id, reason: String(error), transient }
}

/** Does `work` on all items, at most `most` at a time, and returns the results in the items' order. Rejects at the first error. */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  const left = items.entries()
  const lane = async () => {
    for (const [index, item] of left) results[index] = await work(item, index)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane))
  return results
}

/**
 * Like `sideBySide`, but items with the same name are worked on one after the other, so that the first of them wins. Items
 * without a name are independent of all others.
 */
export async function sideBySideByName<Item, Result>(
  items: readonly Item[],
  most: number,
  nameOf: (item: Item) => string | undefined,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  const groups = groupBy(items.entries(), ([index, item]) => nameOf(item) ?? index)
  await sideBySide([...groups.values()], most, async group => {
    for (const [index, item] of group) results[index] = await work(item, index)
  })
  return results
}
