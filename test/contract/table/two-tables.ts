import type { AttributeValue, ConsumedCapacity, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, ScanCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import { type Documents, type Item, plainItem, type Written } from '../../../shared/aws/dynamo/documents.ts'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { createMemoryTable, type MemoryTable } from '../../../shared/testing/table/memory-table.ts'
import { type TransactItem, transactWrite } from '../../support/dynamo/memory-transactions.ts'
import { type Units, unitsOfRead, unitsOfWrite } from '../../support/dynamo/memory-units.ts'

/** A request to both tables. */
export type Request = {
  [Operation in keyof Documents]: {
    readonly operation: Operation
    readonly request: Parameters<Documents[Operation]>[0]
  }
}[keyof Documents]

/** What became of a request: its answer, or that the table refuses it whatever it holds. */
type Outcome = { readonly answer: unknown; readonly units?: Units } | { readonly refused: true }

/** One table in memory and one in DynamoDB Local, which get the same requests. */
export type TwoTables = {
  readonly name: string
  readonly memory: MemoryTable
  /** The outcomes of a request: in memory, and in DynamoDB Local. */
  send(request: Request): Promise<{ readonly memory: Outcome; readonly local: Outcome }>
  transact(items: readonly TransactItem[]): Promise<{ readonly memory: Outcome; readonly local: Outcome }>
  /** All items of both tables, in one order. */
  items(): Promise<{ readonly memory: readonly Item[]; readonly local: readonly Item[] }>
}

export function twoTables(client: DynamoDBClient, name: string): TwoTables {
  const documents = DynamoDBDocumentClient.from(client)
  const local = sdkDocuments(documents)
  const metered = meter(client)
  let used: Units[] = []
  const memory = createMemoryTable({
    name,
    onWrite: change => void used.push(unitsOfWrite(change)),
    onRead: ({ items, isConsistent, index }) => void used.push(unitsOfRead(items, isConsistent, index)),
  })
  return {
    name,
    memory,
    send: async ({ operation, request }) => {
      const ask = (port: Documents) => (port[operation] as (one: typeof request) => Promise<unknown>)(request)
      used = []
      const inMemory = await outcomeOf(() => ask(memory.documents))
      metered.take()
      const inLocal = await outcomeOf(() => ask(local))
      const reported = metered.take()
      if (operation === 'batchGet') for (const one of [inMemory, inLocal]) sortBatch(one)
      return {
        memory: withUnits(withoutSets(inMemory), used),
        // DynamoDB Local reports nothing for a write that is refused, and for keys under which it finds nothing.
        local: withUnits(inLocal, operation === 'batchGet' || isEmpty(reported) ? used : reported),
      }
    },
    transact: async items => ({
      memory: await outcomeOf(async () => transactWrite(memory, items)),
      local: await outcomeOf(() => transactLocally(documents, items)),
    }),
    items: async () => {
      const { Items = [] } = await documents.send(new ScanCommand({ TableName: name, ConsistentRead: true }))
      return { memory: inOrder([...memory.items()]), local: inOrder(Items) }
    },
  }
}

async function outcomeOf(ask: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { answer: await ask() }
  } catch (error) {
    const isRefusal =
      (error instanceof BatonError && error.code === 'unstorable') ||
      (error instanceof Error && (error.name === 'ValidationException' || error.constructor === Error))
    if (isRefusal) return { refused: true }
    throw error
  }
}

/** A batch has no order. */
function sortBatch(outcome: Outcome): void {
  const { items } = ('answer' in outcome ? outcome.answer : {}) as { items?: Item[] }
  items?.splice(0, items.length, ...inOrder(items))
}

function isEmpty(reported: readonly Units[]): boolean {
  return reported.every(units => Object.values(units).every(one => one === 0))
}

/** The stored item of a refused write comes without its sets by the SDK. No store reads one. */
function withoutSets(outcome: Outcome): Outcome {
  const { isWritten, item } = ('answer' in outcome ? (outcome.answer ?? {}) : {}) as Partial<Written>
  if (isWritten !== false || !item) return outcome
  const plain = JSON.parse(JSON.stringify(item, (_name, value) => (value instanceof Set ? null : value)))
  return { answer: { isWritten, item: plain } }
}

function withUnits(outcome: Outcome, units: readonly Units[]): Outcome {
  if ('refused' in outcome) return outcome
  const sum: Record<string, number> = {}
  for (const [name, value] of units.flatMap(one => Object.entries(one))) {
    if (value > 0) sum[name] = (sum[name] ?? 0) + value
  }
  return { ...outcome, units: sum }
}

/** The failed entries, as the table in memory shows them. */
async function transactLocally(documents: DynamoDBDocumentClient, items: readonly TransactItem[]) {
  try {
    await documents.send(new TransactWriteCommand({ TransactItems: items as never }))
    return []
  } catch (error) {
    const { CancellationReasons: reasons } = error as { CancellationReasons?: readonly Reason[] }
    if (!reasons) throw error
    if (reasons.some(({ Code }) => Code === 'ValidationError')) throw new Error('an entry is refused')
    return reasons.flatMap(({ Code, Item: item }, index) =>
      Code === 'None' ? [] : [{ index, item: item && plainWithSets(item) }],
    )
  }
}

function plainWithSets(item: Record<string, AttributeValue>): Item {
  const plain = (value: AttributeValue): unknown => {
    if (value.NS) return new Set(value.NS.map(Number))
    if (value.SS) return new Set(value.SS)
    if (value.M) return plainWithSets(value.M)
    return value.L ? value.L.map(plain) : plainItem({ value } as Parameters<typeof plainItem>[0]).value
  }
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)]))
}

type Reason = { readonly Code?: string; readonly Item?: Record<string, AttributeValue> }

/** The units that DynamoDB Local reports for the requests since the last call. */
function meter(client: DynamoDBClient) {
  let reported: Units[] = []
  client.middlewareStack.add(next => async args => {
    const result = await next(args)
    const { ConsumedCapacity: one } = result.output as { ConsumedCapacity?: ConsumedCapacity }
    for (const { Table, GlobalSecondaryIndexes = {} } of [one ?? []].flat()) {
      const indexes = Object.entries(GlobalSecondaryIndexes).map(([name, { CapacityUnits = 0 }]) => [
        name,
        CapacityUnits,
      ])
      reported.push({ table: Table?.CapacityUnits ?? 0, ...Object.fromEntries(indexes) })
    }
    return result
  })
  return {
    take: () => {
      const taken = reported
      reported = []
      return taken
    },
  }
}

function inOrder(items: readonly Item[]): Item[] {
  const name = ({ pk, sk }: Item) => JSON.stringify([pk, sk])
  return items.toSorted((a, b) => (name(a) < name(b) ? -1 : 1))
}
