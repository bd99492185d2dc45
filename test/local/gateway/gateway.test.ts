import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb'
import { ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { AttributeType, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { afterEach, expect, it } from 'vitest'
import { jsonAnswer } from '../../../local/gateway/call.ts'
import { createFaults } from '../../../local/gateway/faults.ts'
import { startGateway } from '../../../local/gateway/gateway.ts'
import { costOf, createMeter, totalOf } from '../../../local/gateway/meter.ts'
import { aTinyCloud, clientOf, fixtureFunction } from '../tiny-cloud.ts'

const cloud = aTinyCloud(stack => {
  const table = new TableV2(stack, 'Items', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    globalSecondaryIndexes: [
      {
        indexName: 'byKind',
        partitionKey: { name: 'kind', type: AttributeType.STRING },
        projectionType: ProjectionType.KEYS_ONLY,
      },
    ],
  })
  const queue = new Queue(stack, 'Work')
  const environment = { TABLE: table.tableName, QUEUE_URL: queue.queueUrl }
  const writer = fixtureFunction(stack, 'Writer', 'writer', { environment })
  table.grantWriteData(writer)
  queue.grantSendMessages(writer)
})
const dynamo = clientOf(cloud, DynamoDBClient)
const sqs = clientOf(cloud, SQSClient, { maxAttempts: 1 })

afterEach(() => cloud.faults.clear())

const tableName = () => cloud.resource('AWS::DynamoDB::GlobalTable').physicalId
const queueUrl = () => cloud.resource('AWS::SQS::Queue').physicalId

const put = (pk: string, more: Record<string, { S: string }> = {}, ConditionExpression?: string) =>
  dynamo.send(
    new PutItemCommand({
      TableName: tableName(),
      Item: { pk: { S: pk }, ...more },
      ...(ConditionExpression
        ? { ConditionExpression, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
        : {}),
    }),
  )

it('units are metered per table, index and caller, even if the request did not ask for them', async () => {
  const before = cloud.meter.snapshot()

  await put('plain')
  await put('indexed', { kind: { S: 'a' }, filler: { S: 'x'.repeat(1500) } })
  await dynamo.send(new GetItemCommand({ TableName: tableName(), Key: { pk: { S: 'indexed' } } }))

  const lines = cloud.meter.since(before)
  const lineOf = (operation: string, resource: string) =>
    lines.find(line => line.operation === operation && line.resource === resource)
  expect(lineOf('PutItem', tableName())).toMatchObject({ caller: 'tester', calls: 2, writeUnits: 3 })
  expect(lineOf('PutItem', `${tableName()}/byKind`)).toMatchObject({ calls: 0, writeUnits: 1 })
  expect(lineOf('GetItem', tableName())).toMatchObject({ calls: 1, readUnits: 0.5 })
})

it("a function's calls are metered as its own, with its invocation", async () => {
  const before = cloud.meter.snapshot()

  const result = await cloud.functions
    .find('Writer')
    .invoke({ put: { pk: { S: 'by-function' } }, send: 'hello' })

  expect(result.ok).toBe(true)
  const { logicalId } = cloud.functions.find('Writer')
  const own = cloud.meter.since(before).filter(({ caller }) => caller === logicalId)
  expect(own.find(({ operation }) => operation === 'PutItem')).toMatchObject({ writeUnits: 1 })
  expect(own.find(({ operation }) => operation === 'SendMessage')).toMatchObject({ requests: 1 })
  expect(own.find(({ operation }) => operation === 'Invoke')).toMatchObject({
    calls: 1,
    gbMs: expect.any(Number),
  })
  expect(costOf(own).total).toBeGreaterThan(0)
})

it('a condition that fails is billed by the size of the item on which it failed', async () => {
  await put('taken', { filler: { S: 'x'.repeat(2500) } })
  const before = cloud.meter.snapshot()

  const refused = put('taken', {}, 'attribute_not_exists(pk)')

  await expect(refused).rejects.toBeInstanceOf(ConditionalCheckFailedException)
  expect(totalOf(cloud.meter.since(before))).toMatchObject({ calls: 1, writeUnits: 3, failedWriteUnits: 3 })
})

it('SQS is billed in chunks of 64 KB, and empty receives are counted', async () => {
  const before = cloud.meter.snapshot()

  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: 'x'.repeat(100_000) }))
  await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl(), MaxNumberOfMessages: 10 }))
  await sqs.send(new ReceiveMessageCommand({ QueueUrl: queueUrl(), MaxNumberOfMessages: 10 }))

  const lines = cloud.meter.since(before)
  expect(lines.find(({ operation }) => operation === 'SendMessage')).toMatchObject({ calls: 1, requests: 2 })
  const receives = lines.find(({ operation }) => operation === 'ReceiveMessage')
  expect(receives).toMatchObject({ calls: 2, emptyReceives: 1 })
})

it('a caller sees a dropped message as sent, and no queue has it', async () => {
  const remove = cloud.faults.add({
    service: 'sqs',
    operation: 'SendMessage',
    matches: body => String(body.MessageBody).includes('lose me'),
    action: 'drop',
  })

  const sent = await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: 'lose me' }))
  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: 'keep me' }))

  expect(sent.MessageId).toBeDefined()
  const bodies = cloud.inspectQueue(cloud.resource('AWS::SQS::Queue').arn).messages.map(({ body }) => body)
  expect(bodies).toContain('keep me')
  expect(bodies).not.toContain('lose me')
  expect(remove()).toBe(1)
})

it('a write may fail before or after it was applied, or be throttled', async () => {
  const impatient = new DynamoDBClient({ ...cloud.clientOptions, maxAttempts: 1 })
  const Item = { pk: { S: 'troubled' } }
  const write = () => impatient.send(new PutItemCommand({ TableName: tableName(), Item }))
  const exists = async () =>
    (await dynamo.send(new GetItemCommand({ TableName: tableName(), Key: Item }))).Item
  const failNextWrite = (action: 'fail-before' | 'fail-after' | 'throttle') =>
    cloud.faults.add({ caller: 'tester', service: 'dynamodb', operation: 'PutItem', action, times: 1 })

  failNextWrite('fail-before')
  await expect(write()).rejects.toMatchObject({ $metadata: { httpStatusCode: 500 } })
  expect(await exists()).toBeUndefined()
  failNextWrite('throttle')
  await expect(write()).rejects.toMatchObject({ name: 'ThrottlingException' })
  failNextWrite('fail-after')
  await expect(write()).rejects.toMatchObject({ $metadata: { httpStatusCode: 500 } })
  expect(await exists()).toEqual(Item)
  await write()
})

it('the SDK retries until a short outage is over', async () => {
  const remove = cloud.faults.add({
    service: 'dynamodb',
    operation: 'PutItem',
    action: 'fail-before',
    times: 2,
  })

  await put('patient')

  expect(remove()).toBe(2)
})

it("a message sent by a function carries the trace of the function's invocation", async () => {
  const traceId = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0'

  await cloud.functions.find('Writer').invoke({ send: 'traced' }, traceId)

  const queue = cloud.inspectQueue(cloud.resource('AWS::SQS::Queue').arn)
  const [beforeLineage, lineage] =
    queue.messages.find(({ body }) => body === 'traced')?.trace?.split(';Lineage=') ?? []
  expect(beforeLineage).toBe(traceId)
  expect(lineage).toMatch(/^[0-9a-f]{8}:1$/)
})

it('a request without the key of the cloud reaches no service', async () => {
  const signed = (headers: Record<string, string>) =>
    fetch(cloud.endpoint, {
      method: 'POST',
      headers: {
        authorization:
          'AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/dynamodb/aws4_request, Signature=0',
        'x-amz-target': 'DynamoDB_20120810.ListTables',
        ...headers,
      },
      body: '{}',
    })
  const { sessionToken } = cloud.clientOptions.credentials

  expect((await signed({})).status).toBe(403)
  expect((await signed({ 'x-amz-security-token': sessionToken.replace(/^./, 'x') })).status).toBe(403)
  expect((await signed({ 'x-amz-security-token': `${sessionToken}0` })).status).toBe(403)
  expect((await signed({ 'x-amz-security-token': sessionToken })).status).toBe(200)
})

it('a call to a service that is not emulated is refused with that reason', async () => {
  const answer = await fetch(cloud.endpoint, {
    method: 'POST',
    headers: {
      authorization: 'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/kinesis/aws4_request',
      'x-amz-security-token': cloud.clientOptions.credentials.sessionToken,
    },
  })

  expect(answer.status).toBe(501)
  expect(await answer.text()).toContain('no kinesis')
})

it('a call is answered as the service answers it, and the failure is logged, when the meter fails', async () => {
  const logged: string[] = []
  const fail = () => {
    throw new Error('cannot count')
  }
  const meter = { ...createMeter(), add: fail }
  const gateway = await startGateway(meter, createFaults(), 'key', line => void logged.push(line))
  gateway.serve('sqs', async () => jsonAnswer(200, { MessageId: 'sent' }))

  const answer = await gateway.call('tester', 'sqs', 'SendMessage', { MessageBody: 'null' })

  expect(answer).toEqual({ MessageId: 'sent' })
  expect(logged).toEqual(['SendMessage of sqs was not metered: Error: cannot count'])
  await gateway.stop()
})

it('a message whose text is null is sent and received', async () => {
  await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: 'null' }))

  const received = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: queueUrl(), MaxNumberOfMessages: 10 }),
  )

  expect(received.Messages?.map(({ Body }) => Body)).toContain('null')
})
