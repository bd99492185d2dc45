import { ReceiveMessageCommand, SendMessageCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import { beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'
import { createTaskCodec, type HeadReader } from '../../../shared/aws/dynamo/head/head-reader.ts'
import {
  createSqsDeadLetterQueue,
  createSqsResender,
  queueOfLetter,
  readLetter,
} from '../../../shared/aws/sqs/dead-letter-queue.ts'
import {
  encodeCanvasLook,
  encodeDispatch,
  encodeJob,
  encodeLateEvents,
  encodeLimitLook,
  encodeLook,
  encodeMinute,
} from '../../../shared/aws/sqs/wire.ts'
import type { LetterQueue, LetterSubject } from '../../../shared/core/dead-letters.ts'
import { minuteStart } from '../../../shared/core/place/place.ts'
import { queueNameOf } from '../../../shared/core/types/task-type.ts'
import { anSqs } from '../../support/ports/an-sqs.ts'
import { aTask, BORN } from '../../support/tasks/a-task.ts'

const TYPE_QUEUE = queueNameOf('Baton', 'resize')
const sqs = anSqs(['dead', 'wake', 'jobs', TYPE_QUEUE])

beforeAll(async () => {
  const deadLetterTargetArn = `arn:aws:sqs:${REGION}:${ACCOUNT_ID}:dead`
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 })
  for (const name of ['wake', 'jobs', TYPE_QUEUE]) {
    const Attributes = { RedrivePolicy, VisibilityTimeout: '0' }
    await sqs.client().send(new SetQueueAttributesCommand({ QueueUrl: urlOf(name), Attributes }))
  }
})

/** Tasks as they are stored. */
const codec = createTaskCodec({
  task: async ({ rev }: { rev: number }) => ({ ...aTask(), revision: rev }),
} as unknown as HeadReader)

const { urlOf } = sqs
const names = () => ({ system: 'Baton', wakeQueueUrl: urlOf('wake'), jobsQueueUrl: urlOf('jobs') })
const deadLetters = () =>
  createSqsDeadLetterQueue(sqs.client(), { queueUrl: urlOf('dead'), names: names(), codec })

const LOOK = { id: 'resize:a', born: BORN, revision: 4, hops: 0, delaySeconds: 0 }
const STREAM = JSON.stringify({
  requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 11 },
  version: '1.0',
  DDBStreamBatchInfo: { shardId: 'shard-1', batchSize: 3, streamArn: 'arn' },
})
const DISPATCH = encodeDispatch(codec, { task: aTask({ revision: 3 }) })
const SCHEDULED = '{"version":"0","source":"aws.scheduler","detail-type":"Scheduled Event","detail":"{}"}'

describe('the subject of a dead letter', () => {
  it.each<[string, string, Partial<LetterSubject>, LetterQueue]>([
    ['a dispatch', DISPATCH, { kind: 'dispatch', taskId: aTask().id, revision: 3 }, 'type:resize'],
    [
      'a dispatch of other code',
      '{"v":9,"id":"resize:a"}',
      { kind: 'dispatch', taskId: 'resize:a' },
      'type:resize',
    ],
    ['a look', encodeLook(LOOK), { kind: 'look', taskId: 'resize:a', born: BORN, revision: 4 }, 'wake'],
    [
      'a limit',
      encodeLimitLook({ line: { kind: 'slot', limit: 'a' }, delaySeconds: 0 }),
      { kind: 'limit', limit: 'a' },
      'wake',
    ],
    ['a minute', encodeMinute({ minute: 7 }), { kind: 'minute', dueAt: minuteStart(7) }, 'wake'],
    ['a shard', encodeMinute({ minute: 7, shard: 1 }), { kind: 'minute', dueAt: minuteStart(7) }, 'wake'],
    [
      'late events',
      encodeLateEvents({ events: [{ taskId: 'resize:a' } as never], hops: 1, delaySeconds: 0 }),
      { kind: 'events', count: 1, taskId: 'resize:a' },
      'wake',
    ],
    [
      'a canvas',
      encodeCanvasLook({ id: 'canvas:c', born: BORN, from: 0, delaySeconds: 0 }),
      { kind: 'canvas', canvasId: 'canvas:c' },
      'jobs',
    ],
    [
      'a job',
      encodeJob({ type: 'resize', job: { kind: 'resume' }, bucket: 'open', shard: 0, delaySeconds: 0 }),
      { kind: 'job', type: 'resize', job: 'resume' },
      'jobs',
    ],
    ['a batch of the stream', STREAM, { kind: 'changes', count: 3, shardId: 'shard-1' }, 'stream'],
    ['a round of the sweeper', SCHEDULED, { kind: 'round' }, 'schedules'],
    ['a round of the sweeper, locally', '{}', { kind: 'round' }, 'schedules'],
    ['a newer kind', '{"v":1,"kind":"riddle"}', { kind: 'unreadable' }, 'unknown'],
    ['no JSON', 'hello', { kind: 'unreadable' }, 'unknown'],
    ['other JSON', '[1]', { kind: 'unreadable' }, 'unknown'],
    ['a batch of nothing', '{"DDBStreamBatchInfo":null}', { kind: 'unreadable' }, 'unknown'],
    [
      'a batch without its context',
      '{"DDBStreamBatchInfo":{},"requestContext":null}',
      { kind: 'unreadable' },
      'unknown',
    ],
  ])('%s', async (_name, body, subject, queue) => {
    const read = await readLetter(codec, body)

    expect(read.subject).toMatchObject(subject)
    expect(queueOfLetter(read, undefined, { system: 'Baton', wake: 'wake', jobs: 'jobs' })).toBe(queue)
  })
})

describe('the queue of a dead letter', () => {
  const hashed = queueNameOf('Baton', 'images.resize')

  it.each<[string, string, string | undefined, LetterQueue]>([
    ['the wake queue, whatever the body', 'hello', 'wake', 'wake'],
    ['the jobs queue, whatever the body', 'hello', 'jobs', 'jobs'],
    ['the queue of the type', DISPATCH, TYPE_QUEUE, 'type:resize'],
    ['the named queue, rather than the type of the id', DISPATCH, 'Baton-q-mail', 'type:mail'],
    ['the named queue of an unreadable body', 'hello', 'Baton-q-mail', 'type:mail'],
    ['unknown, for a name that does not contain its type', 'hello', hashed, 'unknown'],
    ['the type of the body, for such a name', '{"v":9,"id":"images.resize:a"}', hashed, 'type:images.resize'],
    ['unknown, for a queue of another system', 'hello', 'Other-q-mail', 'unknown'],
  ])('is %s', async (_name, body, source, queue) => {
    const read = await readLetter(codec, body)

    expect(queueOfLetter(read, source, { system: 'Baton', wake: 'wake', jobs: 'jobs' })).toBe(queue)
  })
})

describe('the dead-letter queue', () => {
  /** Sends a body to a queue and receives it until the queue gives it up. */
  async function giveUp(name: string, MessageBody: string) {
    await sqs.client().send(new SendMessageCommand({ QueueUrl: urlOf(name), MessageBody }))
    const receive = new ReceiveMessageCommand({ QueueUrl: urlOf(name), VisibilityTimeout: 0 })
    for (let nth = 0; nth < 3; nth++) await sqs.client().send(receive)
  }

  it('reports which queue gave a message up, how often it was delivered, and when it was sent', async () => {
    const from = Date.now()
    await giveUp(TYPE_QUEUE, DISPATCH)
    await giveUp('wake', 'hello')

    const letters = await deadLetters().receive()
    await deadLetters().remove(letters)

    expect(letters).toMatchObject([
      { queue: 'type:resize', body: DISPATCH, receives: 2, subject: { kind: 'dispatch', revision: 3 } },
      { queue: 'wake', body: 'hello', receives: 2, subject: { kind: 'unreadable' } },
    ])
    for (const { sentAt } of letters) expect(sentAt).toBeGreaterThanOrEqual(from)
    expect(sqs.inspect('dead').messages).toEqual([])
  })

  it('shows what a service said about its message', async () => {
    const MessageAttributes = {
      ERROR_CODE: { DataType: 'String', StringValue: 'AccessDeniedException' },
      ERROR_MESSAGE: { DataType: 'String', StringValue: 'not allowed' },
    }
    const MessageBody = encodeMinute({ minute: 7 })
    await sqs
      .client()
      .send(new SendMessageCommand({ QueueUrl: urlOf('dead'), MessageBody, MessageAttributes }))
    await sqs.client().send(new SendMessageCommand({ QueueUrl: urlOf('dead'), MessageBody: STREAM }))

    const letters = await deadLetters().receive()
    await deadLetters().remove(letters)

    expect(letters).toMatchObject([
      { queue: 'schedules', receives: 0, error: 'AccessDeniedException: not allowed' },
      { queue: 'stream', receives: 0, error: 'RetryAttemptsExhausted after 11 invocations' },
    ])
  })

  it('is unavailable when SQS does not answer', async () => {
    const queueUrl = urlOf('missing')
    const queue = createSqsDeadLetterQueue(sqs.client(), { queueUrl, names: names(), codec })

    await expect(queue.receive()).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('messages that are sent again', () => {
  it('reach the queues that gave them up, and a dispatch begins a new chain', async () => {
    const resender = createSqsResender(sqs.client(), names())
    const counted = encodeDispatch(codec, { task: aTask(), passedOn: 3, hops: 12 })

    const failures = await resender.sendAgain([
      { queue: 'wake', body: 'hello' },
      { queue: 'jobs', body: '{"v":1,"kind":"riddle","hops":3}' },
      { queue: 'type:resize', body: counted },
      { queue: 'type:gone', body: DISPATCH },
    ])

    const bodies = ['wake', 'jobs', TYPE_QUEUE].map(name => sqs.inspect(name).messages.at(-1)?.body)
    expect(failures).toEqual([{ index: 3, reason: 'its queue does not exist any more', transient: false }])
    expect(bodies).toEqual([
      'hello',
      '{"v":1,"kind":"riddle","hops":3}',
      encodeDispatch(codec, { task: aTask() }),
    ])
  })
})
