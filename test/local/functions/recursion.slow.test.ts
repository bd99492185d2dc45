import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { Duration, type Stack } from 'aws-cdk-lib'
import { AttributeType, type ITable, StreamViewType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { type FunctionProps, RecursiveLoop, StartingPosition } from 'aws-cdk-lib/aws-lambda'
import { DynamoEventSource, SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { expect, it, vi } from 'vitest'
import { joinedTrace } from '../../../local/functions/lineage.ts'
import { aTinyCloud, clientOf, eventually, fixtureFunction, linesOf } from '../tiny-cloud.ts'

const PATIENCE_MS = 60_000
vi.setConfig({ testTimeout: 2 * PATIENCE_MS })

const logged: string[] = []

/** Adds a queue, and a function that sends each of its messages to another queue or into a table. */
function addRelay(
  stack: Stack,
  name: string,
  to: { readonly queue?: Queue; readonly table?: TableV2 },
  props: Partial<FunctionProps> = {},
): Queue {
  const dead = new Queue(stack, `${name}Dead`)
  const queue = new Queue(stack, `${name}Queue`, {
    visibilityTimeout: Duration.seconds(3),
    deadLetterQueue: { queue: dead, maxReceiveCount: 2 },
  })
  const environment: Record<string, string> = to.table
    ? { TABLE: to.table.tableName }
    : { QUEUE_URL: (to.queue ?? queue).queueUrl }
  const relay = fixtureFunction(stack, `${name}Relay`, 'relay', {
    timeout: Duration.seconds(3),
    environment,
    ...props,
  })
  if (to.table) to.table.grantWriteData(relay)
  else (to.queue ?? queue).grantSendMessages(relay)
  relay.addEventSource(new SqsEventSource(queue, { batchSize: 10 }))
  return queue
}
const cloud = aTinyCloud(
  stack => {
    addRelay(stack, 'Loop', {})
    addRelay(stack, 'Allowed', {}, { recursiveLoop: RecursiveLoop.ALLOW })
    const pong = addRelay(stack, 'Pong', {})
    addRelay(stack, 'Ping', { queue: pong })
    const table = new TableV2(stack, 'Items', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      dynamoStream: StreamViewType.NEW_IMAGE,
    })
    const written = addRelay(stack, 'Written', { table })
    const reader = fixtureFunction(stack, 'Reader', 'relay', {
      environment: { QUEUE_URL: written.queueUrl },
    })
    written.grantSendMessages(reader)
    // TableV2's optional properties do not satisfy ITable under exactOptionalPropertyTypes.
    reader.addEventSource(
      new DynamoEventSource(table as ITable, { startingPosition: StartingPosition.TRIM_HORIZON }),
    )
  },
  { log: ({ line }) => void logged.push(line) },
)
const sqs = clientOf(cloud, SQSClient)

const begin = (name: string) =>
  sqs.send(
    new SendMessageCommand({
      QueueUrl: cloud.resource('AWS::SQS::Queue', `${name}Queue`).physicalId,
      MessageBody: JSON.stringify({ id: name, hop: 0 }),
    }),
  )

/** Counts each hop once: on a busy machine a message may be received again before its function has ended. */
const hopsOf = (name: string, id = name) => {
  const lines = linesOf(cloud, `${name}Relay`) as { id: string; hop: number }[]
  return [...new Set(lines.filter(line => line.id === id).map(({ hop }) => hop))].sort((a, b) => a - b)
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, nth) => from + nth)

const deadOf = (name: string) => {
  const { messages } = cloud.inspectQueue(cloud.resource('AWS::SQS::Queue', `${name}Dead`).arn)
  return [...new Set(messages.map(({ body }) => JSON.parse(body).hop as number))]
}

const dropped = (name: string) => cloud.functions.find(`${name}Relay`).recursionsDropped()

it('a function that sends to its own queue is not invoked a 17th time, and the message reaches the dead-letter queue', async () => {
  await begin('Loop')

  await eventually('the dead letter', () => deadOf('Loop').length > 0, PATIENCE_MS)

  expect(hopsOf('Loop')).toEqual(range(0, 16))
  expect(deadOf('Loop')).toEqual([16])
  expect(dropped('Loop')).toBeGreaterThanOrEqual(2)
  expect(logged.filter(line => line.includes('RecursiveInvocationException'))).toEqual(
    expect.arrayContaining([expect.stringMatching(/"level":"ERROR".*LoopRelay/)]),
  )
})

it('a function whose `RecursiveLoop` is `Allow` continues', async () => {
  await begin('Allowed')

  await eventually('20 hops', () => hopsOf('Allowed').includes(20), PATIENCE_MS)

  expect(hopsOf('Allowed')).toEqual(range(0, 21))
  expect(dropped('Allowed')).toBe(0)
})

it('a chain of requests ends at the stream of a table', async () => {
  await begin('Written')

  await eventually('20 hops', () => hopsOf('Written').includes(20), PATIENCE_MS)

  expect(dropped('Written')).toBe(0)
})

it('each function of a chain has a count of its own', async () => {
  await begin('Ping')

  await eventually('the dead letter', () => deadOf('Pong').length > 0, PATIENCE_MS)

  expect(hopsOf('Ping')).toEqual([0])
  expect(hopsOf('Pong', 'Ping')).toEqual(range(1, 17))
})

it('messages of a batch continue its longest chain', () => {
  const joined = joinedTrace(['Root=1-a;Lineage=aa:2|bb:7', undefined, 'Root=1-b;Lineage=aa:9', 'Root=1-c'])

  expect(joined).toBe('Root=1-a;Lineage=aa:9|bb:7')
})
