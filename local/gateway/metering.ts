import { type Answer, bodyOf, type Call, textFields } from './call.ts'
import { failedWriteUnits } from './item-size.ts'
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
