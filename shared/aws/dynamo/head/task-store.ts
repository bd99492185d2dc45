import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import type { Change } from '../../../core/change/change.ts'
import { BatonError, isOutage } from '../../../core/errors.ts'
import type { BodyWrite } from '../../../core/task/body.ts'
import type { EndedRun, Task } from '../../../core/task/task.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { Applied, IndexPage, IndexQuery, IndexRange, TaskStore } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import { countIndex, entryFrom, queryIndex, withinBounds } from '../index-requests.ts'
import { answerOf, type Conditional, conditional, writeAnswer } from '../sending.ts'
import { bodyFromItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'
import { deleteBody, getBody, putBody, queryRuns, renewBody, runFromItem } from './body-requests.ts'
import { createHeadReader, type HeadReader } from './head-reader.ts'
import {
  batchGetHeads,
  getHead,
  putHead,
  recordLook,
  updateHead,
  WRITE_ID_ATTRIBUTE,
} from './head-requests.ts'
import { buryHead, unreadableLogger } from './unreadable-heads.ts'

export type TaskTable = BatchReader & {
  readonly heads: HeadReader
  readonly clock: Pick<Clock, 'now'>
  /** Told of heads that are left out. @default nobody */
  readonly log?: Pick<Log, 'error'>
  readonly logUnreadable: ReturnType<typeof unreadableLogger>
  /** A new name for one write: random, some 8 characters. */
  readonly newWriteId: () => string
}

/** Tasks in a DynamoDB table with the keys and indexes of `keys.ts`. */
export function createTaskStore(
  documents: DynamoDBDocumentClient,
  settings: Omit<TaskTable, 'documents' | 'heads' | 'tellUnreadable'>,
): TaskStore {
  const { table, clock, log = { error: () => undefined } } = settings
  const tellUnreadable = unreadableLogger(log, clock)
  const on: TaskTable = {
    documents,
    ...settings,
    logUnreadable: tellUnreadable,
    heads: createHeadReader(documents, table),
  }
  return {
    head: async id => {
      const { Item } = await answerOf(documents.send(new GetCommand(getHead(table, id))))
      return Item && on.heads.task(Item)
    },
    bury: (id, now) => bury(on, id, now),
    heads: async ids => {
      const items = await readBatches(on, [...new Set(ids)], batchGetHeads)
      return (await Promise.all(items.map(item => readableTask(on, item)))).flat()
    },
    apply: change => applyChange(on, change),
    recordLook: async (task, record, now) => {
      const request = recordLook(table, task, record, now)
      return !('refusedBy' in (await conditional(documents.send(new UpdateCommand(request)))))
    },
    body: async (id, ref) => {
      const { Item } = await answerOf(documents.send(new GetCommand(getBody(table, id, ref))))
      return Item && bodyFromItem(Item)
    },
    renewBody: async (id, ref, expiresAt) => {
      await conditional(documents.send(new UpdateCommand(renewBody(table, id, ref, expiresAt))))
    },
    dropBodies: async (id, bodies) => {
      const deletions = bodies.map(({ ref }) => documents.send(new DeleteCommand(deleteBody(table, id, ref))))
      await answerOf(Promise.all(deletions))
    },
    runRecords: (id, born, limit) => readRuns(on, id, born, limit),
    page: query => readPage(on, query),
    count: range => countEntries(on, range),
  }
}

/**
 * Bodies, and the steps of a flow, first, so that a head never points at nothing; then the head, in one conditional write. Records of ended runs
 * come last: nothing points at them, and a change that is refused must not leave one of a run that did not end so.
 */
async function applyChange(on: TaskTable, change: Change): Promise<Applied> {
  const { before, after, bodies } = change
  const { definition } = after.flow ?? {}
  if (definition && definition.name !== before?.flow?.definition.name) await on.heads.keep(definition)
  await putBodies(
    on,
    after.id,
    bodies.filter(body => !isRunRecord(body)),
  )
  const applied = await writeHead(on, change)
  // A record that cannot be written costs a detail of the history; the transition has happened.
  if (applied.applied) await putBodies(on, after.id, bodies.filter(isRunRecord)).catch(() => undefined)
  return applied
}

function isRunRecord(body: BodyWrite): boolean {
  return 'run' in body
}

async function putBodies(
  { documents, table }: TaskTable,
  id: string,
  bodies: readonly BodyWrite[],
): Promise<void> {
  await writeAnswer(Promise.all(bodies.map(body => documents.send(new PutCommand(putBody(table, id, body))))))
}

async function writeHead(
  { documents, table, newWriteId: token, heads }: TaskTable,
  change: Change,
): Promise<Applied> {
  const { before, after } = change
  const name = token()
  const written: Conditional<{ Attributes?: Item | undefined }> = await conditional(
    before
      ? documents.send(new UpdateCommand(updateHead(table, { ...change, before }, name)))
      : documents.send(new PutCommand(putHead(table, change, name))),
  )
  if ('answer' in written) {
    const { Attributes } = written.answer
    return { applied: true, task: Attributes ? await heads.task(Attributes) : after }
  }
  const { refusedBy } = written
  const current = refusedBy && (await heads.task(refusedBy))
  const wasOurs =
    current !== undefined && (refusedBy?.[WRITE_ID_ATTRIBUTE] === name || isBirthOf(change, current))
  return wasOurs ? { applied: true, task: current } : { applied: false, current }
}

/**
 * A write that was repeated because its answer was lost finds its own work: under its token, or, when a worker was
 * quicker than the repetition, under the birth that it alone can have begun.
 */
function isBirthOf({ before, after }: Change, current: Task): boolean {
  return current.born === after.born && current.born !== before?.born
}

/** One head that cannot be read must not keep a whole batch from being read. */
async function readableTask(
  { heads, logUnreadable: tellUnreadable }: TaskTable,
  item: Item,
): Promise<Task[]> {
  try {
    return [await heads.task(item)]
  } catch (error) {
    if (isOutage(error)) throw error
    tellUnreadable(String(item.pk), error)
    return []
  }
}

async function bury({ documents, table, heads }: TaskTable, id: string, now: number): Promise<boolean> {
  const { Item } = await answerOf(documents.send(new GetCommand(getHead(table, id))))
  if (!Item || (await isReadable(heads, Item))) return false
  const request = documents.send(new PutCommand(buryHead(table, Item, now)))
  return !('refusedBy' in (await conditional(request)))
}

/** What newer code has written is readable for that code. */
async function isReadable(heads: HeadReader, item: Item): Promise<boolean> {
  try {
    await heads.task(item)
    return true
  } catch (error) {
    if (error instanceof BatonError && error.code === 'unreadable') return false
    if (error instanceof BatonError && error.code === 'newer-schema') return true
    throw error
  }
}

async function readRuns(on: TaskTable, id: string, born: string, limit: number): Promise<EndedRun[]> {
  const runs: EndedRun[] = []
  let start: Item | undefined
  while (runs.length < limit) {
    const request = queryRuns(on.table, id, born, limit - runs.length, start)
    const { Items, LastEvaluatedKey } = await answerOf(on.documents.send(new QueryCommand(request)))
    runs.push(...(Items ?? []).map(runFromItem))
    start = LastEvaluatedKey
    if (!start) break
  }
  return runs
}

async function readPage({ documents, table }: TaskTable, query: IndexQuery): Promise<IndexPage> {
  const bounded = withinBounds(query)
  if (!bounded) return { entries: [], more: false }
  const request = queryIndex(table, bounded)
  const { Items, LastEvaluatedKey } = await answerOf(documents.send(new QueryCommand(request)))
  const entries = (Items ?? []).map(item => entryFrom(query.index, item))
  return { entries, more: LastEvaluatedKey !== undefined }
}

async function countEntries({ documents, table }: TaskTable, range: IndexRange): Promise<number> {
  if (!withinBounds({ ...range, limit: 1 })) return 0
  let total = 0
  let start: Item | undefined
  do {
    const request = countIndex(table, range, start)
    const { Count, LastEvaluatedKey } = await answerOf(documents.send(new QueryCommand(request)))
    total += Count ?? 0
    start = LastEvaluatedKey
  } while (start)
  return total
}
