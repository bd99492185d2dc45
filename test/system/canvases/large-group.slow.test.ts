import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { anHttpWorker } from '../../support/http/http-workers.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { measured } from '../../support/workers/worker-fleet.ts'

const system = aLocalSystem()

/** More than the 1,002 tasks that a publish starts itself. The jobs function starts a larger group. */
const LARGE = scaled(1_100, 10_000)

it(`a group of ${LARGE} is published page by page and completes`, async () => {
  await system.call('PUT', '/v1/types/sum', { kind: 'http' })
  const clerks = ['one', 'two'].map(workerId =>
    anHttpWorker(
      system,
      ['sum'],
      ({ input: [number] }) => ({ outcome: 'succeed', result: number }),
      workerId,
    ),
  )
  const begunAt = Date.now()

  const members = Array.from({ length: LARGE }, (_, number) => ({ type: 'sum', input: [number] }))
  const published = await system.call('POST', '/v1/canvases', { key: 'large', group: members })
  const publishedMs = Date.now() - begunAt
  const path = `/v1/canvases/${published.body.id}`
  // A read of the canvas reads the ends of all members, so it is made once a second only. On a busy machine it may be answered with 503.
  const hasEnded = async () =>
    ['succeeded', 'failed'].includes((await system.call('GET', `${path}?limit=1`)).body.status)
  while (!(await hasEnded())) await sleep(1_000)

  measured(`group of ${LARGE} over HTTP (answered after ${publishedMs} ms)`, Date.now() - begunAt)
  await Promise.all(clerks.map(clerk => clerk.stop()))
  const canvas = (await system.call('GET', path)).body
  expect(published.status).toBe(202)
  expect(canvas.result).toEqual(members.map((_, number) => number))
  expect(canvas.counts).toMatchObject({ succeeded: LARGE, failed: 0 })
}, 250_000)
