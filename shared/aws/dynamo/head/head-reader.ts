import { BatonError, isItemFault } from '../../../core/errors.ts'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import { type Head, isTask } from '../../../core/task/head.ts'
import type { Task } from '../../../core/task/task.ts'
import type { Json } from '../../../core/values/json.ts'
import type { TaskCodec } from '../../../ports/messages.ts'
import {
  type AttributeValue,
  assertKnownSchema,
  bodyFromItem,
  type Documents,
  type Item,
  plainItem,
} from '../documents.ts'
import { getDefinition, putDefinition } from './body-requests.ts'
import { definitionNameIn, headItem, isHeadImage, taskFromItem } from './items.ts'
import { problemOfHead, unreadable } from './unreadable-heads.ts'

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
  if (!item) throw new BatonError('invalid', `the steps ${name} of a flow are not stored in this table`)
  return bodyFromItem(item) as unknown as FlowDefinition
}

async function storeDefinition(
  documents: Documents,
  table: string,
  definition: FlowDefinition,
): Promise<FlowDefinition> {
  const { item: stored } = await documents.put(putDefinition(table, definition))
  if (stored && JSON.stringify(bodyFromItem(stored)) !== JSON.stringify(definition)) {
    throw new BatonError(
      'invalid',
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
  throw new BatonError('invalid', `the message does not carry the head of a task: ${problem}`)
}

function taskIn(head: Head): Task {
  if (isTask(head)) return head
  throw new BatonError(
    'invalid',
    `the message carries the ${head.kind} ${head.id}, and no worker can claim one`,
  )
}
