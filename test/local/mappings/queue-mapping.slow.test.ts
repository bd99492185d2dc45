import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { Duration } from 'aws-cdk-lib'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { beforeAll, expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { aTinyCloud, clientOf, eventually, fixtureFunction, linesOf } from '../tiny-cloud.ts'

/** On a busy machine, a function that has started still ends within this time. */
const VISIBILITY_MS = 3_000

const cloud = aTinyCloud(stack => {
  const dead = new Queue(stack, 'Dead')
  const queue = new Queue(stack, 'Work', {
    visibilityTimeout: Duration.millis(VISIBILITY_MS),
    deadLetterQueue: { queue: dead, maxReceiveCount: 2 },
  })
  const slow = new Queue(stack, 'Slow', { visibilityTimeout: Duration.seconds(2) })
  const sleeper = fixtureFunction(stack, 'Sleeper', 'queue-consumer', { timeout: Duration.seconds(1) })
  sleeper.addEventSource(new SqsEventSource(slow, { batchSize: 1 }))
  const consumer = fixtureFunction(stack, 'Consumer', 'queue-consumer', {
    timeout: Duration.millis(VISIBILITY_MS),
  })
  consumer.addEventSource(
    new SqsEventSource(queue, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency: 3 }),
  )
})
const sqs = clientOf(cloud, SQSClient)
beforeAll(async () => {
  await cloud.functions.find('Consumer').warm(3)
})

const queueUrl = (id: string) => cloud.resource('AWS::SQS::Queue', id).physicalId

const send = (...bodies: { id: string; action?: string; folder?: string; of?: number }[]) =>
  sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: queueUrl('Work'),
      Entries: bodies.map((body, index) => ({ Id: String(index), MessageBody: JSON.stringify(body) })),
    }),
  )

type Delivery = { bodies: { id: string }[]; record: Record<string, unknown>; at: number }

/** The time of the first receive. It compares with `at`, because the server and the function share a clock. */
const firstReceiveOf = ({ record }: Delivery) =>
  Number((record.attributes as Record<string, string>).ApproximateFirstReceiveTimestamp)

const deliveriesOf = (id: string) =>
  (linesOf(cloud, 'Consumer') as Delivery[]).filter(({ bodies }) => bodies?.some(body => body.id === id))

const inQueue = (id: string) => {
  const { messages } = cloud.inspectQueue(cloud.resource('AWS::SQS::Queue', id).arn)
  return messages.map(({ body }) => JSON.parse(body).id as string)
}

const delivered = (id: string, times = 1) =>
  eventually(`${times} deliveries of ${id}`, () => deliveriesOf(id).length >= times && deliveriesOf(id))

it('a message reaches the function in the shape that Lambda gives it', async () => {
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: queueUrl('Work'),
      MessageBody: JSON.stringify({ id: 'shape' }),
      MessageAttributes: { kind: { DataType: 'String', StringValue: 'x' } },
      MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-5e-a' } },
    }),
  )

  const [delivery] = await delivered('shape')
  expect(delivery?.record).toMatchObject({
    body: '{"id":"shape"}',
    eventSource: 'aws:sqs',
    eventSourceARN: cloud.resource('AWS::SQS::Queue', 'Work').arn,
    awsRegion: 'us-east-1',
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: expect.stringMatching(/^\d{13}$/),
      AWSTraceHeader: 'Root=1-5e-a',
    },
    messageAttributes: { kind: { stringValue: 'x', dataType: 'String' } },
  })
})

it('a handled message is gone', async () => {
  await send({ id: 'plain' })

  await delivered('plain')
  await eventually('its removal', () => !inQueue('Work').includes('plain'))
})

it('only the reported messages of a batch are delivered again after the visibility timeout, and then moved to the dead-letter queue', async () => {
  await send({ id: 'good' }, { id: 'bad', action: 'report' })

  const [first, second] = await delivered('bad', 2)
  expect(second!.at - firstReceiveOf(second!)).toBeGreaterThanOrEqual(VISIBILITY_MS)
  expect(first!.bodies).not.toEqual(second!.bodies)
  expect(second!.record).toMatchObject({ attributes: { ApproximateReceiveCount: '2' } })
  await eventually('redrive', () => inQueue('Dead').includes('bad'))
  expect(deliveriesOf('good')).toHaveLength(1)
  expect(deliveriesOf('bad')).toHaveLength(2)
})

it.each(['throw', 'exit', 'unknown-id'])(
  'a whole batch is delivered again when its function does "%s"',
  async action => {
    await send({ id: `whole-${action}`, action })

    const [, second] = await delivered(`whole-${action}`, 2)
    expect(second!.at - firstReceiveOf(second!)).toBeGreaterThanOrEqual(VISIBILITY_MS)
  },
)

it('a function that hangs is killed at its timeout, and the message is delivered again', async () => {
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: queueUrl('Slow'),
      MessageBody: JSON.stringify({ id: 'hung', action: 'hang' }),
    }),
  )

  const sleeper = cloud.functions.find('Sleeper')
  await eventually('the first delivery', () => linesOf(cloud, 'Sleeper').length >= 1)
  const [pid] = sleeper.pids()
  await eventually('the timeout', () =>
    sleeper.logs.includes('Sandbox.Timedout: Task timed out after 1.00 seconds'),
  )
  await eventually('the second delivery', () => linesOf(cloud, 'Sleeper').length >= 2)
  expect(sleeper.pids()).not.toContain(pid)
})

it('an answer without a list of failures counts as success', async () => {
  await send({ id: 'nonsense', action: 'nonsense' })

  await delivered('nonsense')
  await eventually('its removal', () => !inQueue('Work').includes('nonsense'))
})

it('the kill of a process fails the invocation, and a new process gets the message after the visibility timeout', async () => {
  const consumer = cloud.functions.find('Consumer')
  await send({ id: 'killed', action: 'nap' })
  await delivered('killed')

  const before = consumer.pids()
  for (const pid of before) process.kill(pid, 'SIGKILL')

  const [, second] = await delivered('killed', 2)
  expect(second!.at - firstReceiveOf(second!)).toBeGreaterThanOrEqual(VISIBILITY_MS)
  expect(consumer.pids().some(pid => before.includes(pid))).toBe(false)
  expect(consumer.logs.join()).toContain('signal: SIGKILL')
})

it('a paused mapping receives no message until it is resumed', async () => {
  const mapping = cloud.mapping('Consumer')

  mapping.pause()
  await send({ id: 'paused' })
  await new Promise(resolve => setTimeout(resolve, 150))
  expect(deliveriesOf('paused')).toHaveLength(0)

  mapping.resume()
  await delivered('paused')
})

it('`repeat(2)` makes a mapping deliver twice, and `drop` makes it lose a batch', async () => {
  const mapping = cloud.mapping('Consumer')

  mapping.repeat(2)
  await send({ id: 'twice' })
  await delivered('twice', 2)
  mapping.repeat(1)
  mapping.drop(records => JSON.stringify(records).includes('dropped'))
  await send({ id: 'dropped' })
  await eventually('its loss', () => inQueue('Work').length === 0)
  mapping.drop(undefined)

  expect(deliveriesOf('dropped')).toHaveLength(0)
})

it('as many batches run at once as the maximum concurrency allows', async () => {
  await cloud.functions.find('Consumer').warm(3)
  const folder = join(aFolder(), 'here')
  for (const id of ['n1', 'n2', 'n3']) await send({ id, action: 'meet', folder, of: 3 })

  await Promise.all(['n1', 'n2', 'n3'].map(id => delivered(id)))
  await eventually('all handled', () => inQueue('Work').length === 0)

  expect(readdirSync(folder)).toHaveLength(3)
})
