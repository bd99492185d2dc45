import { describe, expect, it } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../infra/bounds.ts'
import { createTaskCodec, type HeadReader } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { createSqsMessages } from '../../../shared/aws/sqs/messages.ts'
import { encodeDispatch } from '../../../shared/aws/sqs/wire.ts'
import {
  CONCURRENCY_MAX,
  FLOW_DEFINITION_BYTES_MAX,
  PROGRESS_BYTES_MAX,
} from '../../../shared/core/bounds.ts'
import { anSqs } from '../../support/ports/an-sqs.ts'
import { aRun, aTask, BORN } from '../../support/tasks/a-task.ts'

const sqs = anSqs(['wake', 'jobs'])

/** Tasks as they are stored. */
const codec = createTaskCodec({
  task: () => Promise.reject(new Error('nothing is read here')),
} as unknown as HeadReader)

const names = () => ({ system: 'Baton', wakeQueueUrl: sqs.urlOf('wake'), jobsQueueUrl: sqs.urlOf('jobs') })
const kindsIn = (queue: string) =>
  sqs
    .inspect(queue)
    .messages.map(({ body }: { body: string }) => (JSON.parse(body) as { kind: string }).kind)
    .sort()

const CANVAS = { id: '$canvas:c', born: BORN, from: 0, delaySeconds: 0 }
const JOB = { type: 'a', job: { kind: 'resume' }, bucket: 'open', shard: 0, delaySeconds: 0 } as const

describe('messages to the system itself', () => {
  it('are sent to the jobs queue when they are about canvases and jobs, and otherwise to the wake queue', async () => {
    const messages = createSqsMessages(sqs.client(), names(), codec)
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
    const messages = createSqsMessages(sqs.client(), others, codec)

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
