import { DeleteItemCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { Duration } from 'aws-cdk-lib'
import { AttributeType, type ITable, StreamViewType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { expect, it } from 'vitest'
import { aTinyCloud, clientOf, eventually, fixtureFunction, linesOf } from '../tiny-cloud.ts'

const cloud = aTinyCloud(stack => {
  const table = new TableV2(stack, 'Items', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    dynamoStream: StreamViewType.NEW_IMAGE,
  })
  const lost = new Queue(stack, 'Lost')
  const consumer = fixtureFunction(stack, 'Consumer', 'stream-consumer')
  consumer.addEventSource(
    // TableV2's optional properties do not satisfy ITable under exactOptionalPropertyTypes.
    new DynamoEventSource(table as ITable, {
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: 10,
      retryAttempts: 1,
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      maxRecordAge: Duration.hours(23),
      onFailure: new SqsDlq(lost),
      filters: [
        FilterCriteria.filter({
          eventName: FilterRule.or('INSERT', 'MODIFY'),
          dynamodb: { NewImage: { op: { S: FilterRule.notEquals('beat') } } },
        }),
      ],
    }),
  )
})
const dynamo = clientOf(cloud, DynamoDBClient)

const tableName = () => cloud.resource('AWS::DynamoDB::GlobalTable').physicalId

const put = (pk: string, more: Record<string, string> = {}) => {
  const texts = Object.entries({ op: 'put', ...more }).map(([name, S]) => [name, { S }] as const)
  const Item = { pk: { S: pk }, ...Object.fromEntries(texts) }
  return dynamo.send(new PutItemCommand({ TableName: tableName(), Item }))
}

type Delivery = { keys: string[]; record: Record<string, unknown>; at: number }

const deliveriesOf = (key: string) =>
  (linesOf(cloud, 'Consumer') as Delivery[]).filter(({ keys }) => keys?.includes(key))

const delivered = (key: string, times = 1) =>
  eventually(`${times} deliveries of ${key}`, () => deliveriesOf(key).length >= times && deliveriesOf(key))

const readsOf = ({ logicalId }: { logicalId: string }) =>
  cloud.meter
    .snapshot()
    .filter(({ caller, operation }) => caller === logicalId && operation === 'GetRecords')
    .reduce((sum, { calls }) => sum + calls, 0)

/** Writes while the mapping is paused and no longer reads, so that all items arrive in one batch. */
async function putTogether(...items: Parameters<typeof put>[]) {
  const mapping = cloud.mapping('Consumer')
  mapping.pause()
  // A read may be under way. A further read would follow within a quarter of a second.
  for (let reads = -1; reads !== readsOf(mapping); ) {
    reads = readsOf(mapping)
    await new Promise(resolve => setTimeout(resolve, 600))
  }
  for (const item of items) await put(...item)
  mapping.resume()
}

it('a write reaches the function as a stream record', async () => {
  await put('first', { name: 'one' })

  const [delivery] = await delivered('first')
  expect(delivery!.record).toMatchObject({
    eventName: 'INSERT',
    eventSource: 'aws:dynamodb',
    awsRegion: 'us-east-1',
    eventSourceARN: expect.stringContaining('/stream/'),
    dynamodb: {
      Keys: { pk: { S: 'first' } },
      NewImage: { pk: { S: 'first' }, name: { S: 'one' } },
      SequenceNumber: expect.any(String),
      StreamViewType: 'NEW_IMAGE',
      ApproximateCreationDateTime: expect.any(Number),
    },
  })
})

it('empty maps and lists reach the function as DynamoDB writes them', async () => {
  const Item = { pk: { S: 'empty' }, op: { S: 'put' }, map: { M: { inner: { M: {} } } }, list: { L: [] } }
  await dynamo.send(new PutItemCommand({ TableName: tableName(), Item }))

  const [delivery] = await delivered('empty')
  expect(delivery?.record).toMatchObject({ dynamodb: { NewImage: Item } })
})

it('records that the filter refuses never reach the function', async () => {
  await put('beating', { op: 'beat' })
  await dynamo.send(new DeleteItemCommand({ TableName: tableName(), Key: { pk: { S: 'beating' } } }))
  await put('after-beat')

  await delivered('after-beat')
  expect(deliveriesOf('beating')).toHaveLength(0)
})

it('one poisoned record is bisected out of its batch, retried, given up and reported; the other records are handled', async () => {
  await putTogether(['b1'], ['b2'], ['poison', { action: 'fail' }], ['b4'])
  const lostQueue = cloud.resource('AWS::SQS::Queue', 'Lost').arn
  const [lost] = await eventually('the report', () => {
    const { messages } = cloud.inspectQueue(lostQueue)
    return messages.length > 0 && messages
  })
  await eventually('the record behind it', () => deliveriesOf('b4').at(-1)?.keys.join() === 'b4')

  const alone = deliveriesOf('poison').filter(({ keys }) => keys.length === 1)
  expect(alone).toHaveLength(2)
  for (const key of ['b1', 'b2', 'b4'])
    expect(deliveriesOf(key).some(({ keys }) => !keys.includes('poison'))).toBe(true)
  expect(JSON.parse(lost!.body)).toMatchObject({
    requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 2 },
    DDBStreamBatchInfo: { batchSize: 1, streamArn: expect.stringContaining('/stream/') },
  })
})

it('a reported failure is a checkpoint: records before it are not delivered again', async () => {
  await putTogether(['c1'], ['c2', { action: 'report' }], ['c3'])

  const [, again] = await delivered('c2', 2)
  expect(again!.keys).toEqual(['c2', 'c3'])
  await eventually('the end of c2', () => deliveriesOf('c3').at(-1)?.keys.join() === 'c3')
  expect(deliveriesOf('c1')).toHaveLength(1)
})

it('changes of one item arrive in their order', async () => {
  for (let index = 0; index < 30; index += 1) await put('ordered', { index: String(index) })

  await put('after-ordered')
  await delivered('after-ordered')
  const seen = deliveriesOf('ordered').map(({ record }) => record)
  const sequence = seen.map(record => BigInt((record.dynamodb as { SequenceNumber: string }).SequenceNumber))
  expect(sequence.length).toBeGreaterThan(0)
  expect(sequence).toEqual([...sequence].sort((left, right) => (left < right ? -1 : 1)))
})

it('`repeat(2)` makes a mapping deliver every batch twice, and `drop` makes it lose a batch', async () => {
  const mapping = cloud.mapping('Consumer')

  mapping.repeat(2)
  await put('twice')
  await delivered('twice', 2)
  mapping.repeat(1)
  let lost = ''
  mapping.drop(records => {
    lost += JSON.stringify(records)
    return true
  })
  await put('dropped')
  await eventually('its loss', () => lost.includes('dropped'))
  mapping.drop(undefined)
  await put('after-drop')

  await delivered('after-drop')
  expect(deliveriesOf('dropped')).toHaveLength(0)
})
