import { expect, it } from 'vitest'
import { aWorkerFleet, measured } from '../../support/workers/worker-fleet.ts'

const { system, aWorker, publishAll, startsOf } = aWorkerFleet()

it('each of the 20 tasks of a worker that dies runs again on another worker, with default options', async () => {
  const victim = await aWorker(['--concurrency', '20'])
  const input = { report: system.reportUrl, sleepMs: 120_000 }
  const ids = await publishAll(20, 'orphan-', { type: 'video', input })
  await expect.poll(() => startsOf('orphan-').length).toBe(20)
  const heir = await aWorker(['--concurrency', '20'])

  victim.signal('SIGKILL')
  const killedAt = Date.now()
  await expect.poll(() => startsOf('orphan-').length).toBe(40)
  const again = startsOf('orphan-').filter(({ attempt }) => attempt === 2)
  await Promise.all(ids.map(id => system.call('POST', `/v1/tasks/${id}/cancel`)))
  const takeovers = again.map(({ at }) => at - killedAt).sort((a, b) => a - b)
  measured('takeover of 20 tasks, first', takeovers[0] ?? 0)
  measured('takeover of 20 tasks, last', takeovers.at(-1) ?? 0)

  expect(again.map(({ pid }) => pid)).toEqual(ids.map(() => heir.pid))
}, 60_000)
