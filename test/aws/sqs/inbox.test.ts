import { CreateQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { createTaskCodec } from '../../../shared/aws/dynamo/head/head-reader.ts'
import { taskFromItem } from '../../../shared/aws/dynamo/head/items.ts'
import { systemClock } from '../../../shared/aws/environment.ts'
import { createSqsInbox } from '../../../shared/aws/sqs/inbox.ts'
import { createSqsMessages } from '../../../shared/aws/sqs/messages.ts'
import { createDispatchReader } from '../../../shared/aws/sqs/read-dispatch.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { Log } from '../../../shared/ports/machine.ts'
import { inboxContract, type TriedInbox } from '../../contract/inbox.ts'
import { anSqs } from '../../support/ports/an-sqs.ts'
import { createMemoryInbox } from '../../support/ports/inbox.ts'
import { aTask } from '../../support/tasks/a-task.ts'

const sqs = anSqs()
let systems = 0

type AnSqsInbox = TriedInbox & {
  readonly errors: string[]
  readonly queueUrl: string
  /** The tasks in its table. */
  readonly heads: Map<string, Task>
}

/** An inbox of a system of its own, with its log lines. */
async function anSqsInbox(): Promise<AnSqsInbox> {
  systems += 1
  const system = `Test${systems}`
  const wakeQueueUrl = sqs.urlOf('wake')
  const names = { system, wakeQueueUrl }
  const { QueueUrl = '' } = await sqs
    .client()
    .send(new CreateQueueCommand({ QueueName: `${system}-q-resize` }))
  const errors: string[] = []
  const silent = () => undefined
  const log: Log = { debug: silent, info: silent, warn: silent, error: message => void errors.push(message) }
  const heads = new Map<string, Task>()
  const codec = createTaskCodec({ task: async item => taskFromItem(item) })
  const readDispatch = createDispatchReader({ codec, log, tasks: { head: async id => heads.get(id) } })
  return {
    inbox: createSqsInbox(sqs.client(), names, { log, clock: systemClock, codec, readDispatch }),
    clock: systemClock,
    put: async task => {
      expect(
        await createSqsMessages(sqs.client(), names, codec).dispatch([{ task, delaySeconds: 0 }]),
      ).toEqual([])
    },
    errors,
    heads,
    queueUrl: QueueUrl,
  }
}

describe('an inbox in memory', () => {
  inboxContract(async () => {
    const inbox = createMemoryInbox(systemClock)
    return { inbox, clock: systemClock, put: async task => inbox.put(task) }
  })
})

describe('an inbox on SQS', () => {
  inboxContract(anSqsInbox)

  it('drops and logs unreadable messages', async () => {
    const { inbox, errors, queueUrl } = await anSqsInbox()
    await sqs.client().send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'no dispatch' }))

    const deliveries = await inbox.receive('resize', { max: 10, waitMs: 0 })

    expect(deliveries).toEqual([])
    expect(errors).toEqual(['dropped a dispatch that cannot be read'])
    expect(sqs.inspect(queueUrl.split('/').at(-1) ?? '').messages).toEqual([])
  })

  it('delivers the stored task when code of another version has written the dispatch', async () => {
    const { inbox, heads, queueUrl } = await anSqsInbox()
    const present = aTask({ revision: 7 })
    heads.set(present.id, present)
    const MessageBody = JSON.stringify({ v: 1, task: aTask(), passedOn: 2 })
    await sqs.client().send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }))

    const [delivery] = await inbox.receive('resize', { max: 10, waitMs: 0 })

    expect(delivery).toMatchObject({ task: present, passedOn: 2 })
    await delivery?.done()
  })

  it('leaves a dispatch in its queue when the task cannot be read now', async () => {
    const { inbox, heads, queueUrl } = await anSqsInbox()
    heads.get = () => {
      throw new BatonError('unavailable', 'no answer')
    }
    const MessageBody = JSON.stringify({ v: 3, id: 'resize:k1' })
    await sqs.client().send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }))

    expect(await inbox.receive('resize', { max: 10, waitMs: 0 })).toEqual([])

    expect(sqs.inspect(queueUrl.split('/').at(-1) ?? '').messages).toHaveLength(1)
  })

  it('pauses after a request to a missing queue', async () => {
    const { inbox } = await anSqsInbox()
    const aborting = new AbortController()
    const begunAt = Date.now()
    const waiting = inbox.receive('nobody', { max: 1, waitMs: 20_000 }, aborting.signal)
    setTimeout(() => aborting.abort(), 500)

    expect(await waiting).toEqual([])
    expect(Date.now() - begunAt).toBeGreaterThanOrEqual(490)
  })
})
