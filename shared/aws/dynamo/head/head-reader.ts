import { definitionName } from '../../../core/flow/flow.ts'
import { remove } from '../../../core/operate/operate.ts'
import { DEFAULT_OPTIONS } from '../../../core/options.ts'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import { firstFence, type Head, isTask } from '../../../core/task/head.ts'
import { splitTaskId, type Task } from '../../../core/task/task.ts'
import { BatonError, illegal, isItemFault, type Json } from '../../../core/values/values.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { TaskCodec } from '../../../ports/messages.ts'
import { isMap, type StoredBy } from '../attributes.ts'
import type { AttributeValue, Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, bodyFromItem, plainItem } from '../documents.ts'
import { HEAD_SORT_KEY } from '../keys.ts'
import { ifStored } from '../requests.ts'
import { getDefinition, putDefinition } from './body-requests.ts'
import { body, ENDED_RUN, LIVE_RUN, MEMBER } from './head-attributes.ts'
import { DEFAULTS_OF_TASKS, definitionNameIn, HEAD, headItem, isHeadImage, taskFromItem } from './items.ts'

/**
 * Reads heads, finds the unreadable ones, and handles them. Lists and claims leave them out and log them, and an operator can remove them.
 */

/** A process that meets more definitions of flows forgets them all and reads them again. */
const KNOWN_DEFINITIONS_MAX = 1_000

/** Reads heads with the definitions that they name. A definition never changes under its name: a process reads each once. */
export type HeadReader = {
  task(item: Item): Promise<Head>
  /** The head in an image of the table's stream. Undefined when the image is not of a head. */
  taskInImage(image: Readonly<Record<string, AttributeValue>>): Promise<Head | undefined>
  /** Stores the definition, unless it is stored already. */
  keep(definition: FlowDefinition): Promise<void>
}

/**
 * Creates the reader. Its methods throw BatonError `newer-schema` for an item that newer code has written, and `unreadable` for
 * an item that no version of this code writes.
 */
export function createHeadReader(documents: Documents, table: string): HeadReader {
  const known = new Map<string, Promise<FlowDefinition>>()
  const remember = (name: string, definition: Promise<FlowDefinition>) => {
    if (known.size >= KNOWN_DEFINITIONS_MAX) known.clear()
    known.set(name, definition)
    definition.catch(() => known.delete(name))
    return definition
  }
  const definitionOf = (name: string) =>
    known.get(name) ?? remember(name, readDefinition(documents, table, name))
  const task = async (item: Item) => {
    assertKnownSchema(item)
    const problem = problemOfHead(item)
    if (problem !== undefined) throw unreadable(item, problem)
    const name = definitionNameIn(item)
    try {
      return taskFromItem(item, name === undefined ? undefined : await definitionOf(name))
    } catch (error) {
      throw isItemFault(error) ? unreadable(item, whyOf(error), error) : error
    }
  }
  return {
    task,
    taskInImage: async image => (isHeadImage(image) ? task(plainItem(image)) : undefined),
    keep: async definition => {
      const { name } = definition
      await (known.get(name) ?? remember(name, storeDefinition(documents, table, definition)))
    },
  }
}

function whyOf(error: unknown): string {
  return error instanceof BatonError
    ? error.message
    : 'a part of it does not have the form that this code writes'
}

async function readDefinition(documents: Documents, table: string, name: string): Promise<FlowDefinition> {
  const item = await documents.get(getDefinition(table, name))
  if (!item) throw illegal(`the steps ${name} of a flow are not stored in this table`)
  const definition = bodyFromItem(item) as unknown as FlowDefinition
  const { name: _name, ...content } = definition
  // Every program that publishes may put steps under any name, so a program could replace the steps of a flow.
  if (definitionName(content) === name) return definition
  throw illegal(`other steps are stored under the name ${name}`)
}

async function storeDefinition(
  documents: Documents,
  table: string,
  definition: FlowDefinition,
): Promise<FlowDefinition> {
  const { item: stored } = await documents.put(putDefinition(table, definition))
  if (stored && JSON.stringify(bodyFromItem(stored)) !== JSON.stringify(definition)) {
    throw illegal(
      `other steps are stored under the name ${definition.name}: change a step of this flow to give it another name`,
    )
  }
  return definition
}

/**
 * Messages carry tasks in the stored form of their heads. That form has a version, and newer code knows how to read older ones.
 * The form of a flow only names its steps, and each process reads them once.
 */
export function createTaskCodec(heads: Pick<HeadReader, 'task'>): TaskCodec {
  return {
    encode: task => headItem(task) as unknown as Json,
    decode: async form => taskIn(await heads.task(checked(form))),
  }
}

/** @throws BatonError `invalid` for a form that lacks what heads of every version have. */
function checked(form: unknown): Item {
  const item = (typeof form === 'object' && form !== null ? form : {}) as Item
  const problem = problemOfHead(item)
  if (problem === undefined) return item
  throw illegal(`the message does not carry the head of a task: ${problem}`)
}

function taskIn(head: Head): Task {
  if (isTask(head)) return head
  throw illegal(`the message carries the ${head.kind} ${head.id}, and no worker can claim one`)
}

const LOG_PERIOD_MS = 60_000
/** A process that meets more unreadable heads or types forgets which ones it has logged. */
const LOGGED_HEADS_MAX = 1_000

/** Logs each head, or each type, that a read leaves out, at most once a minute. */
export function unreadableLogger(
  log: Pick<Log, 'error'>,
  clock: Pick<Clock, 'now'>,
  what: 'task' | 'type' = 'task',
) {
  const loggedAt = new Map<string, number>()
  return (id: string, error: unknown): void => {
    const now = clock.now()
    if (now - (loggedAt.get(id) ?? Number.NEGATIVE_INFINITY) < LOG_PERIOD_MS) return
    if (loggedAt.size >= LOGGED_HEADS_MAX) loggedAt.clear()
    loggedAt.set(id, now)
    log.error(`a ${what} is left out: its stored form cannot be read`, {
      [what === 'task' ? 'taskId' : 'taskType']: id,
      error,
    })
  }
}

/**
 * Replaces an unreadable head by the tombstone of a removed task. Guard: revision and birth are those that were read, as far as
 * the item has them.
 */
export function buryHead(table: string, item: Item, now: number): RequestOf<'put'> {
  const { pk, born, rev } = item
  const seen = { ...(typeof born === 'string' && { born }), ...(Number.isFinite(rev) && { rev }) }
  // Only an item that exists has its key.
  return { TableName: table, Item: headItem(tombstoneOf(item, now)), ...ifStored({ pk, ...seen }) }
}

const NO_BIRTH = '0'.repeat(26)

/** The tombstone keeps what must outlive the task, as far as the item has it: birth, revision, fence, and membership of a canvas. */
function tombstoneOf(item: Item, now: number): Task {
  const id = String(item.pk)
  const { type = '', key = '' } = splitTaskId(id) ?? {}
  const member = memberIn(item)
  const task: Task = {
    id,
    type,
    key,
    kind: 'handler',
    ...DEFAULTS_OF_TASKS,
    born: typeof item.born === 'string' ? item.born : NO_BIRTH,
    revision: numberOr(0, item.rev),
    operation: 'remove',
    state: 'open',
    dueAt: now,
    options: DEFAULT_OPTIONS,
    fence: numberOr(firstFence(now), item.fence),
    createdAt: numberOr(now, item.created),
    updatedAt: now,
    shard: 0,
    ...(member && { member }),
  }
  return remove(task, now).after
}

function memberIn(item: Item): Task['member'] {
  try {
    const member = item.member ? MEMBER.decode(item.member as StoredBy<typeof MEMBER>) : undefined
    return typeof member?.born === 'string' && Number.isInteger(member.leaf) ? member : undefined
  } catch {
    return undefined
  }
}

function numberOr(absent: number, value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : absent
}

const RUN_MAPS = { live: LIVE_RUN, ended: ENDED_RUN } as const

const FENCE = /^[1-9]\d{0,15}$/

/**
 * The fault in the form of a head; undefined when there is none. Heads of every version have these attributes. So an item
 * without them was written by another program, or by a process in which a library had changed the built-in objects.
 */
export function problemOfHead(item: Item): string | undefined {
  if (item.sk !== HEAD_SORT_KEY) return `its sort key is ${JSON.stringify(item.sk)}`
  const odd = oddAttribute(item)
  if (odd !== undefined) return `its attribute ${odd} is ${shown(item[odd])}`
  if (!splitTaskId(item.pk as string)) return 'its key is not the id of a task'
  if (item.input !== undefined && !body.fits(item.input)) return `its attribute input is ${shown(item.input)}`
  return problemOfRuns(item, 'live') ?? problemOfRuns(item, 'ended')
}

function oddAttribute(item: Item): string | undefined {
  if (typeof item.pk !== 'string') return 'pk'
  return Number.isFinite(item.v) ? HEAD.oddAttribute(item) : 'v'
}

function problemOfRuns(item: Item, name: keyof typeof RUN_MAPS): string | undefined {
  const map = item[name]
  if (map === undefined) return undefined
  if (!isMap(map)) return `its attribute ${name} is ${shown(map)}`
  const odd = Object.entries(map).find(([fence, run]) => !FENCE.test(fence) || !RUN_MAPS[name].fits(run))
  return odd && `its map ${name} holds ${shown(odd[0])}: ${shown(odd[1])}, which is not a run`
}

const SHOWN_CHARACTERS_MAX = 100

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, SHOWN_CHARACTERS_MAX).toWellFormed()
}

/** The error for an unreadable item. The cause is only for the log, because it may show the data of the task. */
export function unreadable(item: Item, why: string, cause?: unknown): BatonError {
  const id = typeof item.pk === 'string' ? item.pk : shown(item.pk)
  const message = `the stored form of ${id} cannot be read: ${why}; DELETE removes the task`
  return new BatonError('unreadable', message, cause === undefined ? {} : { cause })
}
