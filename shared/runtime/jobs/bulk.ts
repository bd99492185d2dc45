/**
 * A bulk operation does for many tasks of a type what an operator does for one: retry, cancel or remove. It also sends the dead letters
 * of a type again. It is a job, so it continues when its caller has left.
 *
 * All of it is in one record: the request, the position, the page that is under way, and the counts. `startBulk` writes the record, lists
 * the bulk operation in its type, and sends the message of the job. `workOnBulk` works on the page of the record. Then it replaces the
 * record by the counts and the next page, in one write whose guard is the record that it has read.
 *
 * What can go wrong. If the process dies, its message arrives again, and the page of the record is done again. A task of the page that
 * is done already is recognised by the record of its operation, or by its removal, so it counts once. If a message arrives twice, both
 * receivers work on the same page, one of them replaces the record, and the other stops. If the message is lost, the sweeper sends it
 * again (`sweepBulks`).
 */

import type { ApiBulk, BulkBody } from '../../api/bulk.ts'
import type { DeadLetter } from '../../core/dead-letters.ts'
import { isGone } from '../../core/publish.ts'
import { bulkRecord } from '../../core/record-names.ts'
import { areOpen } from '../../core/states.ts'
import { CANVAS_TYPE } from '../../core/task/head-fields.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { needsAttention, type Task, taskId } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { defined, type Json } from '../../core/values/values.ts'
import type { IndexEntry, IndexRange } from '../../ports/stores.ts'
import { isolateEach, readTasks, sideBySide } from '../kernel/heads.ts'
import type { DiagnosticSystem, System } from '../kernel/system.ts'
import { type ListQuery, listRanges, matches } from '../list/list-query.ts'
import { listDeadLetters, replayDeadLetters } from '../operate/dead-letters.ts'
import { cancelTask, removeTask, withoutNeeded } from '../operate/operate.ts'
import { retryTask } from '../operate/retry-task.ts'
import { lostMessageDetector, NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair.ts'
import { changeType, throwIfUnsent } from '../types/change-type.ts'

/** What a caller asks for: the fields of `api/bulk.ts`. A replay has no statuses. */
type BulkRequest = Pick<BulkBody, 'action' | 'type' | 'error' | 'userId' | 'canvasId' | 'tags'> & {
  readonly statuses: readonly Status[]
  readonly since?: number
  readonly until?: number
  /** Whether it only counts. */
  readonly isDryRun: boolean
}

/** A bulk operation as its record keeps it, with the counts of `api/bulk.ts`. */
export type Bulk = BulkRequest &
  Pick<ApiBulk, 'id' | 'by' | 'examined' | 'selected' | 'done' | 'leftOut'> & {
    readonly askedAt: number
    readonly updatedAt: number
    readonly finishedAt?: number
    /** The range of the type's view that it is at. */
    readonly range: number
    /** The last entry of the page. */
    readonly after?: IndexEntry
    /** The ids of the tasks or dead letters that it works on. */
    readonly page: readonly string[]
    /** The id of the write of the record, by which its writer recognises it. */
    readonly writeId?: string
  }

export const BULKS_MAX = 10
const LAST_BULKS_MAX = 5
/** Indexes show a write up to 2 s late. */
const INDEX_DELAY_S = 2
/** How long the record is kept after its last change. */
const RECORD_TTL_MS = 30 * 86_400_000
const PAGE_ITEMS = 100
const CHANGES_AT_ONCE_MAX = 25
/** Their bodies have up to 1 MiB. */
const LETTERS_AT_ONCE_MAX = 10
/** Longer than the work on one page takes. */
const SILENT_MS = 60_000

/** Begins a bulk operation. Undefined when its type has as many as it may have. */
export async function startBulk(
  system: System,
  request: BulkRequest,
  by: string | undefined,
): Promise<Bulk | undefined> {
  const now = system.clock.now()
  const id = system.chance.ulid(now)
  const counts = { examined: 0, selected: 0, done: 0, leftOut: {} }
  const position = { askedAt: now, updatedAt: now, range: 0, page: [] }
  const bulk: Bulk = { ...request, ...defined({ by }), id, ...position, ...counts }
  await system.records.put(bulkRecord(id), bulk as Json, now + RECORD_TTL_MS)
  const { after } = await changeType(system, request.type, stored => {
    const { bulks = [], lastBulks = [] } = stored ?? {}
    if (!stored || bulks.length >= BULKS_MAX) return undefined
    const last = request.isDryRun ? lastBulks : [...lastBulks, id].slice(-LAST_BULKS_MAX)
    return { ...stored, bulks: [...bulks, id], lastBulks: last, operator: system.operator }
  })
  if (!after) return undefined
  await send(system, bulk, INDEX_DELAY_S).catch(error =>
    system.log.warn('a bulk operation could not be started; the sweeper starts it', { id, error }),
  )
  return bulk
}

/** One message works on all partitions of the type, so it names the first. */
function send({ messages }: Pick<System, 'messages'>, { type, id }: Bulk, delaySeconds = 0): Promise<void> {
  const job = { kind: 'bulk', id } as const
  return throwIfUnsent(messages.continueJobs([{ type, job, bucket: 'open', shard: 0, delaySeconds }]), job)
}

/** Reads a bulk operation. Undefined when there is none of this id, or when its record has expired. */
export async function readBulk({ records }: Pick<System, 'records'>, id: string): Promise<Bulk | undefined> {
  return (await records.get(bulkRecord(id))) as Bulk | undefined
}

/** Works on a bulk operation, page by page. At `stopAt` it leaves the rest to a new message. */
export async function workOnBulk(system: System, id: string, stopAt: number): Promise<void> {
  let bulk = await readBulk(system, id)
  const type = bulk && (await system.types.get(bulk.type))
  if (!bulk || !type) return
  while (bulk.finishedAt === undefined) {
    const worked = await withNextPage(system, await withWork(system, bulk), type)
    const next: Bulk = { ...worked, writeId: system.chance.ulid(worked.updatedAt) }
    const expiresAt = next.updatedAt + RECORD_TTL_MS
    const isReplaced = await system.records.replace(bulkRecord(id), next as Json, bulk as Json, expiresAt)
    // The write may have been sent again after a lost answer, and was then refused because of itself.
    if (!isReplaced && (await readBulk(system, id))?.writeId !== next.writeId) return
    bulk = next
    if (bulk.finishedAt === undefined && system.clock.now() >= stopAt) return send(system, bulk)
  }
  await endBulk(system, bulk)
}

async function endBulk(system: System, { type, id }: Pick<Bulk, 'type' | 'id'>): Promise<void> {
  await changeType(system, type, stored =>
    stored?.bulks?.includes(id) ? { ...stored, bulks: stored.bulks.filter(one => one !== id) } : undefined,
  )
}

/** Sends the messages of bulk operations again that are silent, and takes finished ones from the lists of their types. */
export async function sweepBulks(system: System, types: readonly TaskType[]): Promise<SweepReport> {
  const listed = types.flatMap(({ type, bulks = [] }) => bulks.map(id => ({ type, id })))
  const isMessageLost = lostMessageDetector(system, SILENT_MS)
  return sweepEach(
    listed,
    listed.length,
    async ({ type, id }) => {
      const bulk = await readBulk(system, id)
      if (!bulk || bulk.finishedAt !== undefined) await endBulk(system, { type, id })
      else if (await isMessageLost(bulk.updatedAt)) {
        await send(system, bulk)
        return { ...NOTHING_SWEPT, repaired: 1 }
      }
      return NOTHING_SWEPT
    },
    ({ id }, error) => system.log.error('a bulk operation could not be swept', { id, error }),
  )
}

/** The bulk operation with its next page, or as finished. */
async function withNextPage(system: System, bulk: Bulk, type: TaskType): Promise<Bulk> {
  const updatedAt = system.clock.now()
  if (bulk.action === 'replay') return withNextLetters(system, bulk, updatedAt)
  const ranges = rangesOf(bulk, type)
  for (let { range, after } = bulk; range < ranges.length; range += 1, after = undefined) {
    const { entries } = await system.tasks.page({
      ...{ ...(ranges[range] as IndexRange), limit: PAGE_ITEMS },
      ...(after && { after }),
    })
    const last = entries.at(-1)
    if (last) return { ...bulk, updatedAt, range, after: last, page: entries.map(({ id }) => id) }
  }
  return { ...bulk, updatedAt, page: [], finishedAt: updatedAt }
}

/** Ended tasks come first, up to those that had ended at the request. So a task that is retried and fails again is left alone. */
function rangesOf(bulk: Bulk, type: TaskType): IndexRange[] {
  const query = { ...queryOf(bulk), types: [type] }
  const { until = Number.POSITIVE_INFINITY } = bulk
  const [open, ended] = [true, false].map(isOpen => bulk.statuses.filter(one => areOpen([one]) === isOpen))
  return [
    ...(ended?.length
      ? listRanges({ ...query, statuses: ended, until: Math.min(until, bulk.askedAt + 1) }, bulk.askedAt)
      : []),
    ...(open?.length ? listRanges({ ...query, statuses: open }, bulk.askedAt) : []),
  ]
}

function queryOf({ statuses, since, until, error, tags }: Bulk): Omit<ListQuery, 'types'> {
  return { statuses, order: 'ended', limit: PAGE_ITEMS, ...defined({ since, until, error, tags }) }
}

/** What became of a task or a dead letter: `done`, or the reason why it was left out. Undefined: it does not fit the request. */
type Outcome = string | undefined

/** The bulk operation after the work on its page. */
async function withWork(system: System, bulk: Bulk): Promise<Bulk> {
  const { page, action } = bulk
  if (page.length === 0) return bulk
  const outcomes = await (action === 'replay' ? replayLetters(system, bulk) : actOnTasks(system, bulk))
  const leftOut: Record<string, number> = { ...bulk.leftOut }
  const selected = outcomes.filter(outcome => outcome !== undefined)
  const reasons = selected.filter(outcome => outcome !== DONE)
  for (const reason of reasons) leftOut[reason] = (leftOut[reason] ?? 0) + 1
  return {
    ...bulk,
    leftOut,
    examined: bulk.examined + page.length,
    selected: bulk.selected + selected.length,
    done: bulk.done + (bulk.isDryRun ? 0 : selected.length - reasons.length),
  }
}

const DONE = 'done'

async function actOnTasks(system: System, bulk: Bulk): Promise<Outcome[]> {
  const tasks = await readTasks(system, bulk.page)
  const isRemoval = bulk.action === 'remove'
  const free = isRemoval
    ? new Set(await withoutNeeded(system, tasks, task => fits(system, bulk, task)))
    : undefined
  const outcomes = await isolateEach(system, tasks, CHANGES_AT_ONCE_MAX, async task => {
    if (isDone(system, bulk, task)) return DONE
    if (!fits(system, bulk, task)) return undefined
    if (needsAttention(task)) return 'needs-attention'
    if (free && !free.has(task)) return 'open-canvas'
    return bulk.isDryRun ? DONE : act(system, bulk, task)
  })
  const faults = Array<Outcome>(tasks.length - outcomes.length).fill('fault')
  return [...outcomes, ...faults]
}

/** Whether the task fits the request, existed at it, and has not ended since: for example after a retry by this bulk operation. */
function fits({ clock }: System, bulk: Bulk, task: Task): boolean {
  const { askedAt, type, userId, canvasId } = bulk
  if (task.createdAt > askedAt || (task.finishedAt ?? 0) > askedAt) return false
  const ofCanvas = task.member && taskId(CANVAS_TYPE, task.member.canvasId)
  if (canvasId !== undefined && ofCanvas !== canvasId) return false
  return matches(task, [type], { ...queryOf(bulk), ...defined({ userId }) }, clock.now())
}

/** Whether an earlier delivery of the message has done the task already. */
function isDone({ clock }: System, { action, askedAt, by, isDryRun }: Bulk, task: Task): boolean {
  if (isDryRun) return false
  if (isGone(task, clock.now())) return action === 'remove' && task.updatedAt >= askedAt
  const { operations = [] } = task
  const names: readonly string[] = action === 'retry' ? RETRIES : [action]
  return operations.some(one => one.by === by && names.includes(one.what) && one.at >= askedAt)
}

/** The names under which a retry is recorded. */
const RETRIES = ['restart', 'retry-do', 'retry-undo'] as const

/** Decides on the task as it is when it is written: one that does not fit any more is left out. */
async function act(system: System, bulk: Bulk, { id }: Task): Promise<Outcome> {
  const { by, action } = bulk
  const recording = by === undefined ? system : { ...system, operator: { by, what: action } }
  const expected = { isStill: (task: Task) => fits(system, bulk, task) }
  const acted = { retry: retryTask, cancel: cancelTask, remove: removeTask }[action as 'retry']
  const outcome = await acted(recording, id, expected)
  // Another receiver of the same message may have been faster.
  if (outcome.ok || ('task' in outcome && isDone(system, bulk, outcome.task))) return DONE
  if (action === 'remove' && outcome.reason === 'unknown') return DONE
  return outcome.reason === 'unknown' || outcome.reason === 'stale' ? 'changed' : outcome.reason
}

function lettersOf(system: System): DiagnosticSystem {
  if ('deadLetters' in system && 'resender' in system) return system as DiagnosticSystem
  throw new Error('this process cannot send dead letters again')
}

async function withNextLetters(system: System, bulk: Bulk, updatedAt: number): Promise<Bulk> {
  const { type, after } = bulk
  const query = { queue: `type:${type}`, limit: PAGE_ITEMS, ...(after && { after: after.id }) }
  const { letters } = await listDeadLetters(lettersOf(system), query)
  const last = letters.at(-1)
  const page = letters.map(({ id }) => id)
  return last
    ? { ...bulk, updatedAt, after: { id: last.id, sort: 0 }, page }
    : { ...bulk, updatedAt, page, finishedAt: updatedAt }
}

/** A letter that is gone was sent again before. */
async function replayLetters(system: System, bulk: Bulk): Promise<Outcome[]> {
  const letters = lettersOf(system)
  return sideBySide(bulk.page, LETTERS_AT_ONCE_MAX, async id => {
    const { letter } = (await letters.deadLetters.get(id)) ?? {}
    if (letter && !isSelected(letter, bulk)) return undefined
    if (!letter || bulk.isDryRun) return DONE
    const [replayed] = await replayDeadLetters(letters, [id])
    return replayed?.outcome === 'sent' || replayed?.outcome === 'unknown' ? DONE : replayed?.outcome
  })
}

function isSelected({ arrivedAt, ...letter }: DeadLetter, { since = 0, error = '', ...bulk }: Bulk): boolean {
  const { until = Number.POSITIVE_INFINITY, askedAt } = bulk
  if (arrivedAt < since || arrivedAt >= until || arrivedAt > askedAt) return false
  return (letter.error ?? '').toLowerCase().includes(error.toLowerCase())
}
