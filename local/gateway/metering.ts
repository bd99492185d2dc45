import { type Answer, bodyOf, type Call, textFields } from './call.ts'

import type { Meter } from './meter.ts'

/** SQS bills every started 64 KB of a request or answer as one request. */
const SQS_CHUNK_BYTES = 64 * 1024

const dynamoReads = new Set(['GetItem', 'BatchGetItem', 'Query', 'Scan', 'TransactGetItems'])
const dynamoWrites = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems'])

export const isDynamoWrite = ({ operation }: Call) => dynamoWrites.has(operation)
export const isMeteredDynamoCall = ({ operation }: Call) =>
  dynamoReads.has(operation) || dynamoWrites.has(operation)

/** Records the usage of a call. The gateway calls it once for every call that reached a service. */
export function meterCall({ add, owners }: Meter, call: Call, answer: Answer) {
  const charged = owners.ofCall(call, answer)
  const meter: MeterOfCall = { add: (usageKey, amounts) => add(usageKey, amounts, charged) }
  switch (call.service) {
    case 'dynamodb':
      return meterDynamo(meter, call, answer)
    case 'sqs':
      return meterSqs(meter, call, answer)
    case 'events':
      return meterEvents(meter, call)
    default:
      return meter.add({ ...usageKeyOf(call), resource: '' }, { calls: 1, requests: 1 })
  }
}

/** A meter that charges all it counts to the owners of one call. */
type MeterOfCall = Pick<Meter, 'add'>

const usageKeyOf = ({ caller, service, operation }: Call) => ({ caller, service, operation })

type Item = Record<string, Record<string, unknown>>
type IndexUsage = Record<string, { CapacityUnits?: number }>
type Capacity = {
  TableName: string
  Table?: { CapacityUnits?: number }
  CapacityUnits?: number
  GlobalSecondaryIndexes?: IndexUsage
  LocalSecondaryIndexes?: IndexUsage
}

function meterDynamo(meter: MeterOfCall, call: Call, answer: Answer) {
  if (answer.status !== 200) return meterRefusal(meter, call, answer)
  const used = answer.body.includes('"ConsumedCapacity"') ? bodyOf(answer).ConsumedCapacity : undefined
  const capacities = [used].flat().filter(Boolean) as readonly Capacity[]
  if (capacities.length === 0) return meter.add({ ...usageKeyOf(call), resource: '' }, { calls: 1 })
  const kind = dynamoReads.has(call.operation) ? 'readUnits' : 'writeUnits'
  capacities.forEach((capacity, position) => {
    for (const [resource, units] of unitsByResource(capacity)) {
      const first = position === 0 && resource === capacity.TableName
      meter.add({ ...usageKeyOf(call), resource }, { calls: first ? 1 : 0, [kind]: units })
    }
  })
}

function unitsByResource(capacity: Capacity): [string, number][] {
  const indexes = { ...capacity.GlobalSecondaryIndexes, ...capacity.LocalSecondaryIndexes }
  return [
    [capacity.TableName, capacity.Table?.CapacityUnits ?? capacity.CapacityUnits ?? 0],
    ...Object.entries(indexes).map(([name, used]): [string, number] => [
      `${capacity.TableName}/${name}`,
      used.CapacityUnits ?? 0,
    ]),
  ]
}

// A condition that fails is billed by the size of the item on which it failed. The answer does not report that.
function meterRefusal(meter: MeterOfCall, call: Call, answer: Answer) {
  const refusal = bodyOf(answer)
  const resource = textFields(call.body, 'TableName')[0] ?? ''
  const units = refusedUnits(refusal)
  meter.add({ ...usageKeyOf(call), resource }, { calls: 1, writeUnits: units, failedWriteUnits: units })
}

function refusedUnits(refusal: Record<string, unknown>) {
  const type = String(refusal.__type ?? '')
  if (type.endsWith('ConditionalCheckFailedException'))
    return failedWriteUnits(refusal.Item as Item | undefined)
  if (!type.endsWith('TransactionCanceledException')) return 0
  const reasons = (refusal.CancellationReasons ?? []) as readonly { Item?: Item }[]
  // Every action of a transaction is billed twice: to prepare and to commit.
  return reasons.reduce((sum, { Item }) => sum + 2 * failedWriteUnits(Item), 0)
}

/** Every started 64 KB of an entry is billed. No entry here exceeds 64 KB. */
function meterEvents(meter: MeterOfCall, call: Call) {
  const { Entries = [] } = bodyOf(call) as { Entries?: readonly unknown[] }
  meter.add({ ...usageKeyOf(call), resource: '' }, { calls: 1, requests: Entries.length })
}

function meterSqs(meter: MeterOfCall, call: Call, answer: Answer) {
  const size = Math.max(call.body.length, answer.body.length)
  const url = textFields(call.body, 'QueueUrl')[0] ?? ''
  const empty = call.operation === 'ReceiveMessage' && !answer.body.includes('"Messages"')
  meter.add(
    { ...usageKeyOf(call), resource: url.slice(url.lastIndexOf('/') + 1) },
    { calls: 1, requests: Math.max(1, Math.ceil(size / SQS_CHUNK_BYTES)), emptyReceives: empty ? 1 : 0 },
  )
}

type AttributeValue = Record<string, unknown>

/**
 * Size of an item in bytes as DynamoDB bills it: attribute names plus values. A number takes about one byte per two digits, plus
 * one. A list or map takes 3 bytes, plus one per entry.
 */
export function itemSize(item: Record<string, AttributeValue>): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value),
    0,
  )
}

function valueSize(value: AttributeValue): number {
  const entry = Object.entries(value)[0]
  if (!entry) return 0
  const [type, content] = entry
  return sizes[type]?.(content) ?? 1
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, next) => total + next, 0)
const textSize = (text: unknown) => Buffer.byteLength(String(text))
const binarySize = (base64: unknown) => Buffer.byteLength(String(base64), 'base64')
const numberSize = (text: unknown) => Math.ceil(String(text).replace(/[-.]/g, '').length / 2) + 1
const setOf = (size: (entry: unknown) => number) => (entries: unknown) =>
  sum((entries as unknown[]).map(size))

const sizes: Record<string, (content: unknown) => number> = {
  S: textSize,
  N: numberSize,
  B: binarySize,
  BOOL: () => 1,
  NULL: () => 1,
  SS: setOf(textSize),
  NS: setOf(numberSize),
  BS: setOf(binarySize),
  L: entries => 3 + sum((entries as AttributeValue[]).map(entry => valueSize(entry) + 1)),
  M: entries => {
    const map = entries as Record<string, AttributeValue>
    return 3 + itemSize(map) + Object.keys(map).length
  },
}

/** The write units that a failed condition on this item costs: one per started KB of the item, at least one. */
export const failedWriteUnits = (item: Record<string, AttributeValue> | undefined) =>
  item ? Math.max(1, Math.ceil(itemSize(item) / 1024)) : 1
