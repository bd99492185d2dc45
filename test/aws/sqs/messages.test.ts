import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../infra/bounds.ts'
import { ACCOUNT_ID, REGION } from '../../../local/account.ts'
import { createFaults } from '../../../local/gateway/faults.ts'
import { type Gateway, startGateway } from '../../../local/gateway/gateway.ts'
import { createMeter } from '../../../local/gateway/meter.ts'
import { type SqsServer, startSqsServer } from '../../../local/stores/sqs-server.ts'
import { createTaskCodec, type HeadReader } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { createSqsMessages } from '../../../shared/aws/sqs/messages.ts'
import { encodeDispatch } from '../../../shared/aws/sqs/wire.ts'
import {
  CONCURRENCY_MAX,
  FLOW_DEFINITION_BYTES_MAX,
  PROGRESS_BYTES_MAX,
} from '../../../shared/core/bounds.ts'
import { aRun, aTask, BORN } from '../../support/tasks/a-task.ts'

let gateway: Gateway
let server: SqsServer
let sqs: SQSClient

beforeAll(async () => {
  gateway = await startGateway(createMeter(), createFaults(), 'key', () => undefined)
  server = await startSqsServer(gateway.url, undefined)
  gateway.serve('sqs', server.answer)
  const credentials = { accessKeyId: 'tester', secretAccessKey: 'local', sessionToken: 'key' }
  sqs = new SQSClient({ endpoint: gateway.url, region: REGION, credentials })
  for (const QueueName of ['wake', 'jobs']) await sqs.send(new CreateQueueCommand({ QueueName }))
})

afterAll(async () => {
  sqs?.destroy()
  await gateway?.stop()
  await server?.stop()
})

/** Tasks as they are stored. */
const codec = createTaskCodec({
  task: () => Promise.reject(new Error('nothing is read here')),
} as unknown as HeadReader)

const urlOf = (name: string) => `${gateway.url}/${ACCOUNT_ID}/${name}`
const names = () => ({ system: 'Baton', wakeQueueUrl: urlOf('wake'), jobsQueueUrl: urlOf('jobs') })
const kindsIn = (queue: string) =>
  server
    .inspect(queue)
    .messages.map(({ body }: { body: string }) => (JSON.parse(body) as { kind: string }).kind)
    .sort()

const CANVAS = { id: '$canvas:c', born: BORN, from: 0, delaySeconds: 0 }
const JOB = { type: 'a', job: { kind: 'resume' }, bucket: 'open', shard: 0, delaySeconds: 0 } as const

describe('messages to the system itself', () => {
  it('are sent to the jobs queue when they are about canvases and jobs, and otherwise to the wake queue', async () => {
    const messages = createSqsMessages(sqs, names(), codec)
    const look = { id: 'a:b', born: BORN, revision: 1, hops: 0, delaySeconds: 0 }

    await messages.look([look])
    await messages.lookAtLimits([{ line: { kind: 'slot', limit: 'a' }, delaySeconds: 0 }])
    await messages.lookAtMinute({ minute: 1, shard: 2 })
    await messages.lookAtCanvases([CANVAS])
    await messages.continueJobs([JOB])

    expect(kindsIn('wake')).toEqual(['limit', 'look', 'minute'])
    expect(kindsIn('jobs')).toEqual(['canvas', 'job'])
    expect(await messages.waitingJobs()).toBe(2)
  })

  it('are refused when they are about long jobs and the process does not know the jobs queue', async () => {
    const { jobsQueueUrl: _unknown, ...others } = names()
    const messages = createSqsMessages(sqs, others, codec)

    await expect(messages.continueJobs([JOB])).rejects.toThrow('set BATON_JOBS_QUEUE_URL')
    await expect(messages.lookAtCanvases([CANVAS])).rejects.toMatchObject({ code: 'misconfigured' })
  })
})

describe('a dispatch of a task with 100 runs that report their progress in a script beyond ASCII', () => {
  it('is larger than 256 KB, and fits into a message of the queues', () => {
    const live = Array.from({ length: CONCURRENCY_MAX }, (_, n) =>
      aRun({ fence: n + 1, progress: 'é'.repeat(PROGRESS_BYTES_MAX / 2 - 1) }),
    )
    const task = aTask({ live, input: { inline: 'x'.repeat(FLOW_DEFINITION_BYTES_MAX) } })

    const bytes = Buffer.byteLength(encodeDispatch(codec, { task }))

    expect(bytes).toBeGreaterThan(262_144)
    expect(bytes).toBeLessThan(MESSAGE_BYTES_MAX)
  })
})
