import { expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { aWorkerFleet, measured, statesOf } from '../../support/workers/worker-fleet.ts'

const { system, aWorker, publishAll, startsOf } = aWorkerFleet()

async function counts(type: string): Promise<{ open: number }> {
  const { body } = await system.call('GET', `/v1/types/${type}/counts`)
  return { open: body.delayed + body.ready + body.running }
}

it('worker processes are restarted one after the other, and every task succeeds without a retry', async () => {
  const args = ['--concurrency', '10', '--drain-ms', '500']
  let [oldest, youngest] = await Promise.all([aWorker(args), aWorker(args)])
  const begunAt = Date.now()
  const ids: string[] = []
  const publish = async (count: number, sleepMs: number) => {
    const input = { report: system.reportUrl, sleepMs }
    ids.push(...(await publishAll(count, `rolling-${ids.length}-`, { type: 'video', input })))
  }
  await publish(scaled(90, 480), 100)
  await publish(scaled(12, 20), 1_500)

  const stops: number[] = []
  for (let round = 0; round < 3; round++) {
    // The worker that is to stop has work, however fast the others are.
    await expect
      .poll(async () => {
        await publish(5, 100)
        return startsOf('rolling-').some(({ pid }) => pid === oldest.pid)
      })
      .toBe(true)
    const stoppedAt = Date.now()
    oldest.signal('SIGTERM')
    const [code, next] = await Promise.all([oldest.ended, aWorker(args)])
    expect(code).toBe(0)
    stops.push(Date.now() - stoppedAt)
    ;[oldest, youngest] = [youngest, next]
  }
  await expect.poll(async () => (await counts('video')).open, { interval: 500 }).toBe(0)
  measured(`${ids.length} tasks over three rolling restarts`, Date.now() - begunAt)
  const tasks = []
  for (const id of ids) tasks.push(await system.taskWhen(id, hasEnded, 0))
  measured('longest restart of a worker', Math.max(...stops))

  expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['succeeded']))
  expect(new Set(tasks.map(({ attempts }) => attempts.used))).toEqual(new Set([1]))
  const states = new Set(tasks.flatMap(statesOf))
  expect([...states].filter(state => state !== 'succeeded' && state !== 'released')).toEqual([])
}, 180_000)

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
