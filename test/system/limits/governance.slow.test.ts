import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { DEFAULT_SHARDS } from '../../../shared/core/bounds.ts'
import { unitsOf } from '../../support/dynamo/unit-bill.ts'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'
import { queuesOf } from '../../support/local-system/queues.ts'
import { aShiftedClock } from '../../support/local-system/shifted-clock.ts'
import { isFullScale, scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

const MINUTE = 60_000

/** Numbers of waiting tasks: every nth is in a queue without a worker, the rest are of a type over HTTP. `FEW` fill a read. */
const [FEW, MANY, NTH_IN_QUEUE] = scaled([2_600, 2_900, 10] as const, [5_000, 100_000, 2] as const)

const clock = aShiftedClock()
const system = aLocalSystem({ environment: clock.environment })
const { queue, messagesIn, giveUp } = queuesOf(system)
let sqs: SQSClient

beforeAll(async () => {
  system.cloud.scheduler.disable('Sweep')
  sqs = new SQSClient(system.cloud.clientOptions)
  await system.call('PUT', '/v1/types/bulk', { kind: 'http', ...(!isFullScale && { shards: 1 }) })
})

afterAll(() => sqs?.destroy())

/** Runs one round of the sweeper. Returns what the round examined and consumed. */
async function aRound() {
  const sweeper = system.cloud.functions.find('Sweeper')
  const before = system.cloud.meter.snapshot()
  const result = await sweeper.invoke({})
  const used = system.cloud.meter.since(before).filter(({ caller }) => caller === sweeper.logicalId)
  if (!result.ok) throw new Error(result.error.errorMessage)
  const total = totalOf(used.filter(({ service }) => service !== 'lambda'))
  const sends = used.filter(({ operation }) => operation.startsWith('SendMessage'))
  return {
    examined: (result.payload as { examined: number }).examined,
    requests: total.calls,
    units: total.readUnits + total.writeUnits,
    sends: totalOf(sends).calls,
  }
}

type Round = Awaited<ReturnType<typeof aRound>>

/** Runs a round of the sweeper. At full scale minutes have passed in real time, so another round serves these first. */
async function aFairRound(): Promise<Round> {
  if (isFullScale) await aRound()
  return aRound()
}

/** The units that one more task costs, from its publish to its end. */
async function oneMore(key: string) {
  const publish = await unitsOf(system, () =>
    system.publish({ type: 'bulk', key, priority: 9, input: { to: 'be' } }),
  )
  const work = await unitsOf(system, async () => {
    const { body } = await system.call('POST', '/v1/claims', { type: 'bulk', workerId: key, limit: 1 })
    const [{ task, run }] = body.claims
    expect(task.key).toBe(key)
    await system.call('POST', `/v1/tasks/${task.id}/runs/${run.id}/succeed`, { fence: run.fence })
  })
  return {
    writes: publish.writeUnits + work.writeUnits,
    reads: publish.readUnits + work.readUnits,
  }
}

/** Publishes the tasks with these numbers. They fell due an hour ago. */
async function fill(from: number, to: number): Promise<void> {
  const dueAt = new Date(clock.now() - 60 * MINUTE).toISOString()
  const tasks = Array.from({ length: to - from }, (_, nth) => ({
    type: (from + nth) % NTH_IN_QUEUE === 0 ? 'video' : 'bulk',
    key: `wait-${from + nth}`,
    input: {},
    dueAt,
  }))
  await system.publishAll(tasks)
  const inQueue = Math.ceil(to / NTH_IN_QUEUE)
  await expect.poll(() => messagesIn('Video').length, { interval: 100 }).toBeGreaterThanOrEqual(inQueue)
}

describe('a backlog', () => {
  it(`of ${MANY} tasks costs a round of the sweeper, and one more task, no more than one of ${FEW}`, async () => {
    // In the fifth second of each minute, a further minute of distant tasks comes within the sweeper's range.
    const idle: Round[] = []
    for (let minute = 1; minute <= 3; minute++) {
      clock.moveTo(Math.ceil(clock.now() / MINUTE) * MINUTE + 10_000)
      idle.push(await aRound())
    }
    await fill(0, FEW)
    clock.moveTo(clock.now() + MINUTE)
    const few = { ...(await aFairRound()), task: await oneMore('few') }
    await fill(FEW, MANY)
    clock.moveTo(clock.now() + MINUTE)
    const many = { ...(await aFairRound()), task: await oneMore('many') }

    if (process.env.MEASURE) console.log(JSON.stringify({ idle, few, many }))
    // By chance a round also reads a page of the schedules that it keeps alive: a cursor and a page of each shard.
    const [less, more] = idle.slice(1).sort((a, b) => a.requests - b.requests)
    const kept = {
      requests: Number(less?.requests) + 2 * DEFAULT_SHARDS,
      units: Number(less?.units) + DEFAULT_SHARDS,
    }
    expect([less, { ...less, ...kept }]).toContainEqual(more)
    expect(idle.map(({ examined, sends }) => [examined, sends])).toEqual(Array(3).fill([0, 0]))
    expect(few.examined).toBeGreaterThan(100)
    expect(many.examined).toBeLessThanOrEqual(few.examined * 1.05)
    expect(many.requests).toBeLessThanOrEqual(few.requests * 1.05)
    expect(many.units).toBeLessThanOrEqual(few.units * 1.05)
    expect([few.sends, many.sends]).toEqual([0, 0])
    expect(many.task.writes).toBeLessThanOrEqual(few.task.writes * 1.05)
    expect(many.task.reads).toBeLessThanOrEqual(few.task.reads * 1.05)
  }, 900_000)
})

describe('a purge', () => {
  it('removes the tasks of a type in the background; tasks published after the request stay', async () => {
    const running = await system.publish({
      type: 'probe',
      key: 'purged',
      input: { sleepMs: 60_000, report: system.reportUrl },
    })
    await system.reportWhen(({ key, event }) => key === 'purged' && event === 'started')
    const group = [{ type: 'bulk' }, { type: 'bulk' }]
    const canvas = (await system.call('POST', '/v1/canvases', { group })).body.id
    const begunAt = Date.now()

    const answers = await Promise.all([
      system.call('POST', '/v1/types/bulk/purge', { status: ['ready', 'succeeded'] }),
      system.call('POST', '/v1/types/probe/purge', { status: ['running'] }),
    ])
    await system.publish({ type: 'bulk', key: 'later' })
    const counts = async () => {
      const { ready, succeeded } = (await system.call('GET', '/v1/types/bulk/counts')).body
      return ready + succeeded
    }
    await expect.poll(counts, { timeout: 600_000, interval: scaled(100, 2_000) }).toBe(1)
    measured(`purge of ${MANY - Math.ceil(MANY / NTH_IN_QUEUE)} tasks`, Date.now() - begunAt)
    await system.reportWhen(({ key, event }) => key === 'purged' && event === 'aborted')

    const canvasStatus = async () => (await system.call('GET', `/v1/canvases/${canvas}`)).body.status
    await expect.poll(canvasStatus).toBe('failed')

    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    expect((await system.call('GET', `/v1/tasks/${running}`)).status).toBe(404)
    expect((await system.call('GET', '/v1/tasks/bulk:later')).body.status).toBe('ready')
    expect((await system.call('GET', '/v1/tasks/bulk:wait-1')).status).toBe(404)
    expect((await system.call('GET', '/v1/tasks/video:wait-0')).status).toBe(200)
  }, 700_000)
})

describe('a dispatch', () => {
  it.each([
    ['older', (id: string) => ({ v: 1, task: { id, of: 'another time' } })],
    ['newer', (id: string) => ({ v: 99, id, head: { of: 'another time' } })],
  ])('that %s code has sent is served with the task as the table has it', async (which, written) => {
    const probe = system.cloud.mapping('Probe')
    probe.pause()
    const id = await system.publish({ type: 'probe', key: which, input: { report: system.reportUrl } })
    await giveUp(sqs, `probe:${which}`, 'Probe')

    const MessageBody = JSON.stringify(written(id))
    await sqs.send(new SendMessageCommand({ QueueUrl: queue('Probe').physicalId, MessageBody }))
    probe.resume()

    expect((await system.taskWhen(id, hasEnded)).status).toBe('succeeded')
  })
})
