import type { BodyWrite, Change } from '../../../core/change.ts'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import { type Head, isTask } from '../../../core/task/head.ts'
import { BatonError, isOutage } from '../../../core/values/values.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { Applied, IndexPage, IndexQuery, IndexRange, TaskStore } from '../../../ports/stores.ts'
import type { BatchReader, Documents, Item } from '../documents.ts'
import { bodyFromItem, pagesOf, readAll, readBatches } from '../documents.ts'
import { countIndex, entryFrom, queryIndex, withinBounds } from '../index-requests.ts'
import { deleteBody, getBody, putBody, queryRuns, renewBody, runFromItem } from './body-requests.ts'
import { buryHead, createHeadReader, type HeadReader, unreadableLogger } from './head-reader.ts'
import {
  batchGetHeads,
  getHead,
  putHead,
  recordLook,
  updateHead,
  WRITE_ID_ATTRIBUTE,
} from './head-requests.ts'

export type TaskTable = BatchReader & {
  readonly heads: HeadReader
  readonly clock: Pick<Clock, 'now'>
  /** Logs the heads that a read leaves out. @default no log */
  readonly log?: Pick<Log, 'error'>
  readonly logUnreadable: ReturnType<typeof unreadableLogger>
  /** Creates the id of one write: random, some 8 characters. */
  readonly newWriteId: () => string
}

/** Stores tasks in a DynamoDB table with the keys and indexes of `keys.ts`. */
export function createTaskStore(
  documents: Documents,
  settings: Omit<TaskTable, 'documents' | 'heads' | 'logUnreadable'>,
): TaskStore {
  const { table, clock, log = { error: () => undefined } } = settings
  const logUnreadable = unreadableLogger(log, clock)
  const on: TaskTable = {
    documents,
    ...settings,
    logUnreadable,
    heads: createHeadReader(documents, table),
  }
  return {
    head: async id => {
      const item = await documents.get(getHead(table, id))
      return item && on.heads.task(item)
    },
    bury: (id, now) => bury(on, id, now),
    heads: async ids => {
      const items = await readBatches(on, [...new Set(ids)], batchGetHeads)
      return (await Promise.all(items.map(item => readableTask(on, item)))).flat()
    },
    apply: change => applyChange(on, change),
    recordLook: async (task, record, now) =>
      (await documents.update(recordLook(table, task, record, now))).isWritten,
    body: async (id, ref) => {
      const item = await documents.get(getBody(table, id, ref))
      return item && bodyFromItem(item)
    },
    renewBody: async (id, ref, expiresAt) => {
      await documents.update(renewBody(table, id, ref, expiresAt))
    },
    dropBodies: async (id, bodies) => {
      await Promise.all(bodies.map(({ ref }) => documents.delete(deleteBody(table, id, ref))))
    },
    runRecords: async (id, born, limit) =>
      (await readAll(documents, queryRuns(table, id, born), limit)).map(runFromItem),
    page: query => readPage(on, query),
    count: (range, atMost) => countEntries(on, range, atMost),
  }
}

/**
 * Writes the steps of a flow and the bodies first, so that a head never points at a missing item. Then it writes the head, in one
 * conditional write. Records of ended runs come last: nothing points at them, and a refused change must not leave the record of
 * an end that did not happen.
 */
async function applyChange(on: TaskTable, change: Change): Promise<Applied> {
  const { before, after, bodies } = change
  const definition = definitionOf(after)
  if (definition && definition.name !== definitionOf(before)?.name) await on.heads.keep(definition)
  await putBodies(
    on,
    after.id,
    bodies.filter(body => !isRunRecord(body)),
  )
  const applied = await writeHead(on, change)
  // A failed write of a record loses a detail of the history. The transition has happened.
  if (applied.applied) await putBodies(on, after.id, bodies.filter(isRunRecord)).catch(() => undefined)
  return applied
}

function definitionOf(head: Head | undefined): FlowDefinition | undefined {
  return head && isTask(head) ? head.flow?.definition : undefined
}

function isRunRecord(body: BodyWrite): boolean {
  return 'run' in body
}

async function putBodies(
  { documents, table }: TaskTable,
  id: string,
  bodies: readonly BodyWrite[],
): Promise<void> {
  await Promise.all(bodies.map(body => documents.put(putBody(table, id, body))))
}

async function writeHead(
  { documents, table, newWriteId, heads }: TaskTable,
  change: Change,
): Promise<Applied> {
  const { before, after } = change
  const writeId = newWriteId()
  const { isWritten, item } = await (before
    ? documents.update(updateHead(table, { ...change, before }, writeId))
    : documents.put(putHead(table, change, writeId)))
  const current = item && (await heads.task(item))
  if (isWritten) return { applied: true, head: current ?? after }
  const wasOurs =
    current !== undefined && (item?.[WRITE_ID_ATTRIBUTE] === writeId || isBirthOf(change, current))
  return wasOurs ? { applied: true, head: current } : { applied: false, current }
}

/**
 * Whether a refused write had begun this birth. A write that was repeated after a lost answer recognises its own work by its write id. When
 * a worker changed the task before the repetition, the repeated write recognises the birth, which no other write can have begun.
 */
function isBirthOf({ before, after }: Change, current: Head): boolean {
  return current.born === after.born && current.born !== before?.born
}

/** Logs an unreadable head and leaves it out, so that the rest of its batch can be read. */
async function readableTask({ heads, logUnreadable }: TaskTable, item: Item): Promise<Head[]> {
  try {
    return [await heads.task(item)]
  } catch (error) {
    if (isOutage(error)) throw error
    logUnreadable(String(item.pk), error)
    return []
  }
}

async function bury({ documents, table, heads }: TaskTable, id: string, now: number): Promise<boolean> {
  const item = await documents.get(getHead(table, id))
  if (!item || (await isReadable(heads, item))) return false
  return (await documents.put(buryHead(table, item, now))).isWritten
}

/** Whether this code can read the head. @throws BatonError `newer-schema` for a head that newer code can read. */
async function isReadable(heads: HeadReader, item: Item): Promise<boolean> {
  try {
    await heads.task(item)
    return true
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unreadable') return false
    throw error
  }
}

async function readPage({ documents, table }: TaskTable, query: IndexQuery): Promise<IndexPage> {
  const bounded = withinBounds(query)
  if (!bounded) return { entries: [], more: false }
  const { items, next } = await documents.query(queryIndex(table, bounded))
  return { entries: items.map(item => entryFrom(query.index, item)), more: next !== undefined }
}

async function countEntries(
  { documents, table }: TaskTable,
  range: IndexRange,
  atMost?: number,
): Promise<number> {
  if (!withinBounds({ ...range, limit: 1 })) return 0
  let total = 0
  for await (const { count } of pagesOf(documents, countIndex(table, range), atMost)) total += count
  return total
}
