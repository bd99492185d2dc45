import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { BatonError, isItemFault } from '../../../core/errors.ts'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import type { Task } from '../../../core/task/task.ts'
import { type AttributeValue, plainItem } from '../attribute-values.ts'
import { answerOf, conditional } from '../sending.ts'
import { bodyFromItem } from '../side-items.ts'
import { assertKnownSchema, type Item } from '../stored-form.ts'
import { getDefinition, putDefinition } from './body-requests.ts'
import { definitionNameIn, isHeadImage, taskFromItem } from './items.ts'
import { problemOfHead, unreadable } from './readable-head.ts'

/** A process that meets more flows than this forgets them all and reads on. */
const MOST_KNOWN = 1_000

/** Heads read with what they only name. A definition never changes under its name, so each is read once per process. */
export type HeadReader = {
  task(item: Item): Promise<Task>
  /** The task in a record of the table's stream; undefined when the record is about another kind of item. */
  taskInImage(image: Readonly<Record<string, AttributeValue>>): Promise<Task | undefined>
  /** Stores the definition, unless it is there. */
  keep(definition: FlowDefinition): Promise<void>
}

/**
 * Every method throws BatonError `newer-schema` for an item that newer code has written, and `unreadable` for one that no code
 * can have written so.
 */
export function createHeadReader(documents: DynamoDBDocumentClient, table: string): HeadReader {
  const known = new Map<string, Promise<FlowDefinition>>()
  const remember = (name: string, definition: Promise<FlowDefinition>) => {
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(name, definition)
    definition.catch(() => known.delete(name))
    return definition
  }
  const definitionOf = (name: string) => known.get(name) ?? remember(name, read(documents, table, name))
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
      await (known.get(name) ?? remember(name, write(documents, table, definition)))
    },
  }
}

function whyOf(error: unknown): string {
  return error instanceof BatonError ? error.message : 'a part of it is not as this code writes it'
}

async function read(documents: DynamoDBDocumentClient, table: string, name: string): Promise<FlowDefinition> {
  const { Item } = await answerOf(documents.send(new GetCommand(getDefinition(table, name))))
  if (!Item) throw new BatonError('invalid', `the steps ${name} of a flow are not stored in this table`)
  return bodyFromItem(Item) as unknown as FlowDefinition
}

async function write(
  documents: DynamoDBDocumentClient,
  table: string,
  definition: FlowDefinition,
): Promise<FlowDefinition> {
  const written = await conditional(documents.send(new PutCommand(putDefinition(table, definition))))
  const present = 'refusedBy' in written ? written.refusedBy : undefined
  if (present && JSON.stringify(bodyFromItem(present)) !== JSON.stringify(definition)) {
    throw new BatonError(
      'invalid',
      `other steps are stored under the name ${definition.name}: change yours a little`,
    )
  }
  return definition
}
