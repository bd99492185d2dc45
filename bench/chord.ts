import { expect } from 'vitest'
import type { LocalSystem } from '../test/support/local-system/local-system.ts'
import type { WorkerFleet } from '../test/support/workers/worker-fleet.ts'
import type { Row } from './row.ts'

const MEMBERS = 400

/** Measures a chord from its publish to the end of its callback. The control is the same number of plain tasks. */
export async function chordRow({ system }: WorkerFleet): Promise<Row> {
  await system.cloud.functions.find('Arithmetic').warm(3)
  await plainTasks(system, 'first-', 200)
  const value = await chord(system)
  return {
    name: `chord of ${MEMBERS} by Lambda, to the end of its callback`,
    value,
    control: { name: `${MEMBERS} plain tasks`, value: await plainTasks(system, 'plain-', MEMBERS) },
    bound: { of: 'ratio', max: 1.3 },
  }
}

async function plainTasks(system: LocalSystem, prefix: string, count: number): Promise<number> {
  const succeeded = async () => (await system.call('GET', '/v1/types/add/counts')).body.succeeded
  const before = await succeeded()
  const begunAt = performance.now()
  const pages = Array.from({ length: count / 100 }, (_, page) =>
    Array.from({ length: 100 }, (_, nth) => ({ type: 'add', key: `${prefix}${page}-${nth}`, input: [nth] })),
  )
  await Promise.all(pages.map(tasks => system.call('POST', '/v1/tasks/batch', { tasks })))
  await expect.poll(succeeded, { interval: 50 }).toBeGreaterThanOrEqual(before + count)
  return performance.now() - begunAt
}

async function chord({ call, taskWhen }: LocalSystem): Promise<number> {
  const begunAt = performance.now()
  const group = Array.from({ length: MEMBERS }, (_, number) => ({ type: 'add', input: [number] }))
  const then = { type: 'add', input: [] }
  const { body } = await call('POST', '/v1/canvases', { chord: { group, then } })
  await expect
    .poll(async () => (await call('GET', `/v1/tasks/${body.taskIds.at(-1)}`)).status, { interval: 50 })
    .toBe(200)
  await taskWhen(body.taskIds.at(-1), ({ status }) => status === 'succeeded')
  return performance.now() - begunAt
}
