import { expect } from 'vitest'
import type { WorkerFleet } from '../test/support/workers/worker-fleet.ts'
import type { Row } from './row.ts'

const TASKS = 20

/** Measures the time from the death of a worker until the last of its tasks runs on another worker, at default settings. */
export async function takeoverRow({ system, aWorker, publishAll, startsOf }: WorkerFleet): Promise<Row> {
  const victim = await aWorker(['--concurrency', `${TASKS}`])
  const input = { report: system.reportUrl, sleepMs: 600_000 }
  const ids = await publishAll(TASKS, 'orphan-', { type: 'video', input })
  await expect.poll(() => startsOf('orphan-').length).toBe(TASKS)
  await aWorker(['--concurrency', `${TASKS}`])

  victim.signal('SIGKILL')
  const killedAt = Date.now()
  await expect.poll(() => startsOf('orphan-').length).toBe(2 * TASKS)
  const lostAt: number[] = []
  for (const id of ids) {
    const { body } = await system.call('GET', `/v1/tasks/${id}`)
    lostAt.push(Date.parse(body.runs[0].endedAt))
    await system.call('POST', `/v1/tasks/${id}/cancel`)
  }
  return {
    name: `takeover of the last of ${TASKS} tasks of a worker that died`,
    value: Math.max(...startsOf('orphan-').map(({ at }) => at)) - killedAt,
    control: {
      name: 'until the last of their runs was recorded as lost',
      value: Math.max(...lostAt) - killedAt,
    },
    bound: { of: 'value', max: 17_000 },
  }
}
