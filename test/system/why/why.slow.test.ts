import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { HEAD_SORT_KEY, PRIMARY_KEY } from '../../../shared/aws/dynamo/keys.ts'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { createTypeStore } from '../../../shared/aws/dynamo/stores/type-store.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

/** Every reason of `GET /v1/tasks/{id}/why` that the local system can show, and the cost of each answer. */

const HOUR_MS = 3_600_000
const READ_UNITS_MAX = 10
const OTHER_REQUESTS_MAX = 3

const system = aLocalSystem()

async function put(type: string, configuration: object = {}): Promise<void> {
  const answer = await system.call('PUT', `/v1/types/${type}`, { kind: 'http', ...configuration })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
}

async function claim(type: string, workerId = `w-${type}`, more: object = {}) {
  const { body } = await system.call('POST', '/v1/claims', { type, workerId, ...more })
  return body.claims[0]
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read as users read them
async function end(claimed: any, outcome: string, body: object = {}) {
  const { task, run } = claimed
  const path = `/v1/tasks/${encodeURIComponent(task.id)}/runs/${run.id}/${outcome}`
  return system.call('POST', path, { fence: run.fence, ...body })
}

/** Asks why, and holds the answer to its bounds: 10 read units, 3 other requests, no write. */
async function why(id: string, query = '') {
  const { logicalId } = system.cloud.functions.find('TasksApiFunction')
  const before = system.cloud.meter.snapshot()
  const { status, body } = await system.call('GET', `${pathOf('why', id)}${query}`)
  const lines = system.cloud.meter.since(before).filter(({ caller }) => caller === logicalId)
  const sum = (of: (line: (typeof lines)[number]) => number) => lines.reduce((all, line) => all + of(line), 0)
  expect(status, JSON.stringify(body)).toBe(200)
  expect(sum(({ readUnits }) => readUnits)).toBeLessThanOrEqual(READ_UNITS_MAX)
  expect(sum(({ writeUnits }) => writeUnits)).toBe(0)
  const others = lines.filter(({ service }) => ['sqs', 'events', 'scheduler'].includes(service))
  expect(others.reduce((all, { calls }) => all + calls, 0)).toBeLessThanOrEqual(OTHER_REQUESTS_MAX)
  return body
}

const inAnHour = { retry: { maxRetries: 3, backoff: 'fixed', delayMs: HOUR_MS } }

describe('a task that waits for a time says so', () => {
  it('due', async () => {
    const id = await system.publish({ type: 'probe', key: 'due', delayMs: HOUR_MS })

    const answer = await why(id)

    expect(answer).toMatchObject({ id, status: 'delayed', reason: 'due', until: expect.any(String) })
    expect(answer.sentence).toMatch(/^probe:due waits for its due time, .* UTC \(in 60 min\)\.$/)
  })

  it('retry, with the error and the log of the last run', async () => {
    const id = await system.publish({ type: 'probe', key: 'retry', input: { failures: 9 }, ...inAnHour })
    await system.taskWhen(id, ({ statusReason }) => statusReason === 'retry')

    const answer = await why(id)

    expect(answer).toMatchObject({ status: 'delayed', reason: 'retry' })
    expect(answer.sentence).toContain('with TypeError: attempt 1 fails on purpose; 3 runs are left.')
    expect(answer.log).toContain('about to fail')
  })

  it('crashing, when the process of its handler ended', async () => {
    const mapping = system.cloud.mapping('Probe')
    const input = { report: system.reportUrl, failures: 9, how: 'exit' }
    const id = await system.publish({ type: 'probe', key: 'crash', input, leaseMs: 2_000 })
    await system.reportWhen(({ key }) => key === 'crash')
    mapping.pause()
    await system.taskWhen(id, ({ status, runs }) => status === 'ready' && runs.at(-1)?.state === 'lost')

    const answer = await why(id)
    await system.call('POST', `/v1/tasks/${id}/cancel`)
    mapping.resume()

    expect(answer).toMatchObject({ status: 'ready', reason: 'crashing' })
    expect(answer.sentence).toMatch(
      /waits after \d lost runs?: The process of lambda-\S+ ended without a report/,
    )
  })
})

describe('a task whose type or step is paused says so', () => {
  it('paused, by whom and since when', async () => {
    await put('paused-type')
    await system.call('POST', '/v1/types/paused-type/pause')
    const id = await system.publish({ type: 'paused-type', key: 'a' })

    const answer = await why(id)

    expect(answer).toMatchObject({ status: 'ready', reason: 'paused', since: expect.any(String) })
    expect(answer.sentence).toContain('its type paused-type is paused, by ')
    expect(answer.next).toContain('POST /v1/types/paused-type/resume')
  })

  it('step-paused, for a flow whose present step has another type', async () => {
    await put('paused-step')
    await put('flow-of-paused', { kind: 'flow', steps: [{ name: 'charge', do: { type: 'paused-step' } }] })
    await system.call('POST', '/v1/types/paused-step/pause')
    const id = await system.publish({ type: 'flow-of-paused', key: 'a', input: {} })

    const answer = await why(id)

    expect(answer).toMatchObject({ status: 'ready', reason: 'step-paused' })
    expect(answer.sentence).toContain('its step charge is of type paused-step, which is paused')
  })
})

describe('a task that a limit holds back says so', () => {
  it('rate-limit, with the next free start', async () => {
    await put('slow', { limits: { rate: { limit: 1, perMs: 600_000 } } })
    await system.publish({ type: 'slow', key: 'first' })
    await claim('slow')
    const id = await system.publish({ type: 'slow', key: 'second' })
    await claim('slow')
    await system.taskWhen(id, ({ statusReason }) => statusReason === 'rate-limit')

    const answer = await why(id)

    expect(answer).toMatchObject({
      reason: 'rate-limit',
      until: expect.any(String),
      limit: { kind: 'rate', name: 'slow', max: 1, perMs: 600_000 },
    })
    expect(answer.sentence).toContain(
      'under the rate limit of 1 start per 10 min of slow, first in the line; the next start is free at ',
    )
  })

  it('concurrency-limit, with the tasks that hold the permits', async () => {
    await put('narrow', { limits: { concurrency: { max: 2 } } })
    for (const key of ['one', 'two']) await system.publish({ type: 'narrow', key, leaseMs: 600_000 })
    await claim('narrow')
    await claim('narrow', 'ben')
    const id = await system.publish({ type: 'narrow', key: 'three' })
    await claim('narrow', 'cid')
    await system.taskWhen(id, ({ statusReason }) => statusReason === 'concurrency-limit')

    const answer = await why(id)

    expect(answer.reason).toBe('concurrency-limit')
    expect(answer.sentence).toContain(
      'narrow:three waits for one of 2 permits of narrow, first in the line; held by narrow:one, narrow:two, the oldest since ',
    )
    expect(answer.next).toContain(
      'raise max with PUT /v1/types/narrow, or end a holder: POST /v1/tasks/narrow',
    )
    expect(answer.limit).toMatchObject({ kind: 'concurrency', name: 'narrow', max: 2, held: 2 })
  })
})

describe('a task that no worker takes says so', () => {
  it('no-worker, no-handler, target-offline and target-worker', async () => {
    await put('deserted')
    await put('undeployed', { kind: 'handler' })
    await put('staffed')
    await claim('staffed')
    const ids = [
      await system.publish({ type: 'deserted', key: 'a' }),
      await system.publish({ type: 'undeployed', key: 'a' }),
      await system.publish({ type: 'staffed', key: 'gone', workerIds: ['zoe'] }),
      await system.publish({ type: 'staffed', key: 'here', workerIds: ['w-staffed'] }),
    ]
    await system.taskWhen(ids[3] ?? '', ({ statusReason }) => statusReason === 'target-worker')

    const answers = []
    for (const id of ids) answers.push(await why(id))

    expect(answers.map(({ reason }) => reason)).toEqual([
      'no-worker',
      'no-handler',
      'target-offline',
      'target-worker',
    ])
    expect(answers[2]).toMatchObject({ holder: 'zoe' })
    expect(answers[3]).toMatchObject({ holder: 'w-staffed', lastWorkerSeenAt: expect.any(String) })
  })

  it('worker-version and workers-spent', async () => {
    await put('versioned')
    await claim('versioned', 'w-versioned', { workerVersion: '1.4' })
    const old = await system.publish({ type: 'versioned', key: 'new', minWorkerVersion: '2.0' })
    await put('pair')
    const pair = await system.publish({ type: 'pair', key: 'a', concurrency: 2 })
    await end(await claim('pair'), 'succeed')
    // The API remembers for a second which workers are alive.
    for (const id of [old, pair])
      await system.answerWhen(pathOf('why', id), ({ reason }) => reason !== 'no-worker')

    const answers = [await why(old), await why(pair)]

    expect(answers.map(({ reason }) => reason)).toEqual(['worker-version', 'workers-spent'])
    expect(answers[0].sentence).toContain('with version 2.0 or higher; the live ones have 1.4.')
    expect(answers[1].sentence).toContain('1 success of 2, and no live worker may take it: w-pair')
  })
})

/** Pauses the handler of word-count. A request for messages that is under way may still bring one, so the queue is empty afterwards. */
async function pausedMapping() {
  const mapping = system.cloud.mapping('WordCount')
  mapping.pause()
  for (let isTaken = true; isTaken; ) {
    const id = await system.publish({ type: 'word-count', input: { text: 'a' } })
    const seen = await system.answerWhen(
      pathOf('why', id),
      ({ reason, queue }) => reason === 'succeeded' || queue?.messages >= 1,
    )
    isTaken = seen.reason === 'succeeded'
    // Its message would be sent again.
    await system.call('DELETE', pathOf('get', id))
  }
  await expect.poll(() => dropMessages('WordCountTasksQueue')).toBe(0)
  return mapping
}

describe('a task that can be claimed says what is ahead of it', () => {
  it('backlog of tasks that are claimed in order', async () => {
    await put('busy')
    await claim('busy')
    for (const key of ['a', 'b', 'c']) await system.publish({ type: 'busy', key, priority: 5 })
    const id = await system.publish({ type: 'busy', key: 'last' })
    await system.answerWhen(pathOf('why', id), ({ reason }) => reason !== 'no-worker')

    const answer = await why(id)

    expect(answer).toMatchObject({ status: 'ready', reason: 'backlog', queue: { type: 'busy', before: 3 } })
    expect(answer.sentence).toContain('at least 3 tasks come before it among the tasks of busy')
  })

  it('dispatched, and then the backlog of its queue', async () => {
    const mapping = await pausedMapping()
    const id = await system.publish({ type: 'word-count', key: 'q1', input: { text: 'a' } })
    const alone = await system.answerWhen(pathOf('why', id), ({ queue }) => queue?.messages === 1)
    for (const key of ['q2', 'q3']) await system.publish({ type: 'word-count', key, input: { text: 'a' } })
    await system.answerWhen(pathOf('why', id), ({ queue }) => queue?.messages === 3)

    const behind = await why(id)
    mapping.resume()

    expect(alone).toMatchObject({ status: 'ready', reason: 'dispatched' })
    expect(behind).toMatchObject({ reason: 'backlog', queue: { type: 'word-count', messages: 3 } })
    expect(behind.queue.oldestDueAt).toEqual(expect.any(String))
  })
})

describe('a task that nothing has taken for an hour', () => {
  const longAgo = Date.now() - HOUR_MS

  it('stuck, when its message is gone', async () => {
    const mapping = await pausedMapping()
    await backdateType('word-count', longAgo)
    const id = await system.publish({ type: 'word-count', key: 'forgotten', input: { text: 'a' } })
    await system.answerWhen(pathOf('why', id), ({ queue }) => queue?.messages >= 1)
    await backdateTask(id, longAgo)

    // The sweeper may send the message again, since it is due for so long.
    await expect
      .poll(async () => {
        await dropMessages('WordCountTasksQueue')
        return (await why(id)).reason
      })
      .toBe('stuck')
    const answer = await why(id)
    await system.call('DELETE', `/v1/tasks/${id}`)
    mapping.resume()

    expect(answer).toMatchObject({ status: 'ready', reason: 'stuck', since: new Date(longAgo).toISOString() })
    expect(answer.sentence).toMatch(
      /is stuck: a worker of word-count could take it since .* \(\d+ min ago\), and none has\.$/,
    )
    expect(answer.next).toContain('docs/operations.md')
  })
})

/** Moves all times of a task back, as if nothing had touched it since. */
async function backdateTask(id: string, at: number): Promise<void> {
  const Key = { [PRIMARY_KEY.partition]: id, [PRIMARY_KEY.sort]: HEAD_SORT_KEY }
  await documents().send(
    new UpdateCommand({
      ...{ TableName: tableName(), Key, UpdateExpression: 'SET updated = :at, due = :at' },
      ExpressionAttributeValues: { ':at': at },
    }),
  )
}

/** Moves the registration of a type back: no task is stuck soon after its type changed. */
async function backdateType(type: string, at: number): Promise<void> {
  const store = createTypeStore(sdkDocuments(documents()), { table: tableName(), clock: Date })
  const present = await store.get(type)
  if (!present) throw new Error(`there is no type ${type}`)
  const next = { ...present, version: present.version + 1, updatedAt: at, handlerSince: at }
  expect(await store.put(next, present.version)).toBe(true)
}

/** Takes up to ten messages out of a queue, and returns how many there were. */
async function dropMessages(queue: string): Promise<number> {
  const QueueUrl = system.cloud.resource('AWS::SQS::Queue', queue).physicalId
  const sqs = new SQSClient(system.cloud.clientOptions)
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }))
  for (const { ReceiptHandle } of Messages)
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
  return Messages.length
}

const documents = () => DynamoDBDocumentClient.from(new DynamoDBClient(system.cloud.clientOptions))
const tableName = () => String(system.cloud.outputs.TableName)

describe('a member of a canvas that is not published yet', () => {
  it('says for which canvas it waits, and what to ask without it', async () => {
    await put('link')
    const chain = [{ type: 'link', delayMs: HOUR_MS }, { type: 'link' }]
    const { body } = await system.call('POST', '/v1/canvases', { key: 'waits', chain })
    const member: string = body.taskIds[1]

    const answer = await why(member, '?canvasId=canvas:waits')
    const without = await system.call('GET', pathOf('why', member))
    const other = await system.call('GET', `${pathOf('why', 'link:1')}?canvasId=canvas:waits`)

    expect(answer).toMatchObject({ id: member, status: 'pending', reason: 'canvas' })
    expect(answer.sentence).toContain('waits for other members of canvas:waits: 0 of 2 members have ended')
    expect(without).toMatchObject({ status: 404, body: { detail: expect.stringContaining('canvasId') } })
    expect(other.status).toBe(404)
  })
})

describe('a task that runs or has ended says how', () => {
  it('running, succeeded, failed and cancelled', async () => {
    await put('plain', { defaults: { retry: { maxRetries: 0 } } })
    const ids: string[] = []
    const error = { name: 'Broken', message: 'by hand' }
    const started = async (key: string) => {
      ids.push(await system.publish({ type: 'plain', key, leaseMs: 600_000 }))
      return claim('plain')
    }
    await started('runs')
    await end(await started('ends'), 'succeed')
    await end(await started('fails'), 'fail', { error })
    await started('stops')
    await system.call('POST', '/v1/tasks/plain:stops/cancel')

    const answers = []
    for (const id of ids) answers.push(await why(id))

    expect(answers.map(({ reason }) => reason)).toEqual(['running', 'succeeded', 'failed', 'cancelled'])
    expect(answers[0]).toMatchObject({ status: 'running', holder: 'w-plain', until: expect.any(String) })
    expect(answers[2].sentence).toContain('with Broken: by hand, after 1 run; no retry was left.')
    expect(answers[3].sentence).toMatch(/was cancelled at .* by \S+/)
  })

  it('undone, and half undone', async () => {
    for (const type of ['book', 'unbook', 'pay']) await put(type, { defaults: { retry: { maxRetries: 0 } } })
    const steps = [
      { name: 'book', do: { type: 'book' }, undo: { type: 'unbook' } },
      { name: 'pay', do: { type: 'pay' } },
    ]
    await put('trip', { kind: 'flow', steps })
    const error = { name: 'Broken', message: 'by hand' }
    for (const [key, undo] of [
      ['undone', 'succeed'],
      ['halted', 'fail'],
    ] as const) {
      await system.publish({ type: 'trip', key, input: {} })
      await end(await claim('book'), 'succeed')
      await end(await claim('pay'), 'fail', { error })
      await end(await claim('unbook'), undo, undo === 'fail' ? { error } : {})
    }

    const answers = [await why('trip:undone'), await why('trip:halted')]

    expect(answers.map(({ reason }) => reason)).toEqual(['failed', 'undo-failed'])
    expect(answers[0].sentence).toContain('its steps book were undone')
    expect(answers[1].sentence).toContain('the undo of its step book failed for good with Broken: by hand')
  })

  it('callbacks-owed, when a callback can never be published', async () => {
    await put('caller')
    await put('called')
    await system.publish({
      type: 'caller',
      key: 'a',
      onSuccess: [{ type: 'called', input: [1], workerIds: ['w'] }],
    })
    await put('called', { kind: 'flow', steps: [{ name: 'x', do: { type: 'caller' } }] })
    await end(await claim('caller'), 'succeed')
    await system.taskWhen('caller:a', ({ needsAttention }) => needsAttention === true)

    const answer = await why('caller:a')

    expect(answer).toMatchObject({ status: 'succeeded', reason: 'callbacks-owed' })
    expect(answer.sentence).toContain('owes callbacks that cannot be published: onSuccess.0')
  })
})
