import { beforeAll, expect, it } from 'vitest'
import { unitsOf } from '../../support/dynamo/unit-bill.ts'
import type { Given } from '../../support/http/http-workers.ts'
import { aLocalSystem, PATIENCE_MS } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

const MEMBERS = scaled(400, 1_000)

const system = aLocalSystem()

beforeAll(async () => {
  // The sweeper writes once a minute, and no task causes that.
  system.cloud.scheduler.disable('Sweep')
  await system.cloud.functions.find('Arithmetic').warm(3)
})

const numbers = Array.from({ length: MEMBERS }, (_, number) => number)
const sum = (MEMBERS * (MEMBERS - 1)) / 2

/** Publishes `count` tasks. Returns the time in ms from the first publish until the last task has succeeded. */
async function plainTasks(count: number, prefix: string): Promise<number> {
  const begunAt = Date.now()
  const tasks = numbers
    .slice(0, count)
    .map(number => ({ type: 'add', key: `${prefix}${number}`, input: [number] }))
  const pages = Array.from({ length: count / 100 }, (_, page) => tasks.slice(page * 100, page * 100 + 100))
  const before = await succeeded('add')
  await Promise.all(pages.map(page => system.call('POST', '/v1/tasks/batch', { tasks: page })))
  await expect.poll(() => succeeded('add'), { interval: 100 }).toBeGreaterThanOrEqual(before + count)
  return Date.now() - begunAt
}

async function succeeded(type: string): Promise<number> {
  return (await system.call('GET', `/v1/types/${type}/counts`)).body.succeeded
}

/** Publishes a chord. `ms` is the time from the publish until its callback has ended. */
async function chord(): Promise<{ ms: number; canvas: Given; callback: Given }> {
  const begunAt = Date.now()
  const published = await system.call('POST', '/v1/canvases', {
    chord: {
      group: numbers.map(number => ({ type: 'add', input: [number] })),
      then: { type: 'add', input: [] },
    },
  })
  expect(published.status).toBe(201)
  const callbackId = published.body.taskIds.at(-1)
  const callback = await system.taskWhen(callbackId, ({ status }) => status === 'succeeded')
  const ms = Date.now() - begunAt
  // The planner tells the canvas of the callback's end, after it has read the stream.
  const path = `/v1/canvases/${published.body.id}`
  const canvas = await system.answerWhen(path, ({ status }) => status !== 'running')
  return { ms, canvas, callback }
}

it(
  `a chord of ${MEMBERS} calls back once, and costs at most 2 units more per member than plain tasks`,
  async () => {
    // The first tasks wait for processes that start and code that is compiled.
    await plainTasks(200, 'first-')
    let called: Awaited<ReturnType<typeof chord>> | undefined
    const more = await unitsOf(system, async () => {
      called = await chord()
    })
    let plainMs = 0
    const plain = await unitsOf(system, async () => {
      plainMs = await plainTasks(MEMBERS, 'plain-')
    })

    const extra = (more.writeUnits - plain.writeUnits) / MEMBERS
    measured(`${MEMBERS} plain tasks (${plain.writeUnits} units)`, plainMs)
    measured(
      `chord of ${MEMBERS} (${more.writeUnits} units, ${extra.toFixed(2)} a member more)`,
      called?.ms ?? 0,
    )
    expect(called?.callback).toMatchObject({ result: sum, runs: [{ state: 'succeeded' }] })
    expect(called?.canvas).toMatchObject({ status: 'succeeded', result: sum })
    expect(extra).toBeLessThanOrEqual(2)
  },
  4 * PATIENCE_MS,
)
