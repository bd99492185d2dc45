import { setTimeout as sleep } from 'node:timers/promises'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import type { ApiEvent } from '../../../shared/api/events.ts'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { createWorkerStore } from '../../../shared/aws/dynamo/worker/worker-store.ts'
import { createClient } from '../../../shared/client/client.ts'
import { untilQuiet } from '../../support/dynamo/unit-bill.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { startWorker } from '../../support/workers/worker-process.ts'

const system = aLocalSystem()
/** All events since the system began, as one reader received them. */
const seen: ApiEvent[] = []
const ending = new AbortController()

beforeAll(async () => {
  // Lambda delivers every batch of the stream twice, as it may on AWS.
  system.cloud.mapping('Planner').repeat(2)
  const reading = async () => {
    for await (const event of events()) seen.push(event)
  }
  reading().catch(error => {
    throw error
  })
  await system.cloud.functions.find('Planner').warm(1)
})

afterAll(async () => {
  ending.abort()
})

const events = (lastEventId?: string) =>
  createClient({ url: system.cloud.apiUrl }).events({
    signal: ending.signal,
    ...(lastEventId !== undefined && { lastEventId }),
  })

const about = (id: string) => seen.filter(({ taskId }) => taskId === id)
const wordsOf = (list: readonly ApiEvent[]) => list.map(({ type, status }) => `${type} ${status}`)

const DEAD = { workerId: 'dead', kind: 'http', types: ['word-count'], startedAt: 0 } as const

function workerStore() {
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient(system.cloud.clientOptions))
  return createWorkerStore(sdkDocuments(documents), {
    table: String(system.cloud.outputs.TableName),
    clock: Date,
  })
}

const until = (holds: () => boolean) => expect.poll(holds, { interval: 20 }).toBe(true)

/** Waits for the last event about a task or canvas, and for 150 ms more. Returns all events about it. */
async function eventsOf(id: string, last: string): Promise<ApiEvent[]> {
  await until(() => about(id).some(({ type }) => type === last))
  await sleep(150)
  return about(id)
}

it('a reader receives the events of a task once, in their order, with status and run', async () => {
  const id = await system.publish({ type: 'word-count', key: 'told', input: { text: 'to be' } })

  const received = await eventsOf(id, 'task.succeeded')

  const { body: task } = await system.call('GET', `/v1/tasks/${id}`)
  expect(wordsOf(received)).toEqual([
    'task.published ready',
    'task.ready ready',
    'task.running running',
    'task.succeeded succeeded',
  ])
  expect(received.map(({ runId }) => runId)).toEqual([undefined, undefined, task.runs[0].id, task.runs[0].id])
  expect(received[3]?.at).toBe(task.finishedAt)
  expect(Object.keys(received[3] ?? {}).sort()).toEqual([
    'at',
    'id',
    'runId',
    'status',
    'taskId',
    'taskType',
    'type',
  ])
  expect(received[3]?.taskType).toBe('word-count')
})

it('a reader receives the events of a failed task, of a cancelled task, and of a canvas', async () => {
  const failing = await system.publish({ type: 'fail', key: 'f', input: ['no'] })
  const waiting = await system.publish({
    type: 'word-count',
    key: 'later',
    input: { text: '' },
    delayMs: 3_600_000,
  })
  await system.call('POST', `/v1/tasks/${waiting}/cancel`)
  const { body: canvas } = await system.call('POST', '/v1/canvases', {
    key: 'sum',
    chain: [
      { type: 'add', input: [1, 2] },
      { type: 'add', input: [3] },
    ],
  })

  const ofCanvas = await eventsOf(canvas.id, 'canvas.succeeded')
  const failed = await eventsOf(failing, 'task.failed')
  const cancelled = await eventsOf(waiting, 'task.cancelled')

  expect(wordsOf(failed).slice(-2)).toEqual(['task.running running', 'task.failed failed'])
  expect(failed.at(-1)).toMatchObject({ taskType: 'fail', error: { name: 'Fatal', message: 'no' } })
  expect(wordsOf(cancelled)).toEqual(['task.published delayed', 'task.cancelled cancelled'])
  expect(wordsOf(ofCanvas)).toEqual(['canvas.published running', 'canvas.succeeded succeeded'])
  for (const id of canvas.taskIds) expect(wordsOf(about(id)).at(-1)).toBe('task.succeeded succeeded')
})

it('a reader receives an event when a worker joins, leaves, or dies', async () => {
  const ofWorkers = () => seen.flatMap(({ type, workerId }) => (workerId ? [`${type} ${workerId}`] : []))
  const worker = await startWorker(system, ['--worker-id', 'studio-1'])
  await until(() => ofWorkers().includes('worker.joined studio-1'))
  worker.signal('SIGTERM')
  await until(() => ofWorkers().includes('worker.left studio-1'))

  await workerStore().announce({ ...DEAD, lastSeen: Date.now() - 60_000 })
  await until(() => ofWorkers().includes('worker.joined dead'))
  await system.cloud.scheduler.fire('Sweep')
  await until(() => ofWorkers().includes('worker.left dead'))

  expect(ofWorkers()).toEqual([
    ...['worker.joined studio-1', 'worker.left studio-1'],
    ...['worker.joined dead', 'worker.left dead'],
  ])
})

it('a reader that continues after any event receives all later events once', async () => {
  const all = [...seen]
  for (const start of [0, Math.floor(all.length / 2)]) {
    const again: string[] = []
    for await (const { id } of events(all[start]?.id)) if (again.push(id) === all.length - start - 1) break

    expect(again).toEqual(all.slice(start + 1).map(({ id }) => id))
  }
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
})

it('tasks are planned during an outage of EventBridge, and their events are published after it', async () => {
  const repair = system.cloud.faults.add({ service: 'events', action: 'fail-before' })
  const ids: string[] = []
  for (const key of ['x', 'y', 'z']) {
    const id = await system.publish({ type: 'word-count', key, input: { text: 'to be' } })
    await system.taskWhen(id, ({ status }) => status === 'succeeded')
    ids.push(id)
  }

  expect(repair()).toBeGreaterThan(0)
  expect(ids.flatMap(about)).toEqual([])
  await until(() => ids.every(id => about(id).length === 4))
  expect(new Set(ids.flatMap(about).map(({ id }) => id)).size).toBe(12)
})

describe('as deployed', () => {
  const deployed = aLocalSystem({ environment: { BATON_EVENTS: 'types' } })

  /** The calls that the planner made while `count` tasks were published and ended. */
  async function askedFor(type: string, count: number) {
    const before = deployed.cloud.meter.snapshot()
    const begunAt = Date.now()
    const tasks = Array.from({ length: count }, (_, key) => ({ type, key: `${key}` }))
    await deployed.call('POST', '/v1/tasks/batch', { tasks })
    const { body } = await deployed.call('POST', '/v1/claims', { type, workerId: 'w', limit: count })
    const runs = body.claims.map(
      ({ task, run }: { task: { id: string }; run: { id: string; fence: number } }) => ({
        ...{ taskId: task.id, runId: run.id, fence: run.fence, outcome: 'succeed' },
      }),
    )
    await deployed.call('POST', '/v1/runs/finish', { runs })
    await untilQuiet(deployed)
    const seconds = (Date.now() - begunAt) / 1_000
    const own = deployed.cloud.meter.since(before).filter(({ caller }) => caller.includes('Planner'))
    return {
      seconds,
      requests: totalOf(own.filter(({ service }) => service === 'events')).calls,
      events: totalOf(own.filter(({ service }) => service === 'events')).requests,
      reads: totalOf(own.filter(({ operation }) => operation === 'GetItem')).calls,
    }
  }

  it('only types that ask for events have events, and other types cost a read of the type per second', async () => {
    await deployed.call('PUT', '/v1/types/quiet', { kind: 'http' })
    const quiet = await askedFor('quiet', 20)
    await deployed.call('PUT', '/v1/types/loud', { kind: 'http', events: true })
    const loud = await askedFor('loud', 20)

    expect(quiet.events).toBe(0)
    expect(loud.events).toBe(80)
    // A request takes up to ten events of one batch of the stream.
    expect(loud.requests).toBeLessThan(80)
    // Each of the planner's processes, at most three, reads the type.
    for (const { reads, seconds } of [quiet, loud]) expect(reads).toBeLessThanOrEqual(3 * (1 + seconds))
  })
})
