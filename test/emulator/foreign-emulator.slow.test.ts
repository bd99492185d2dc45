import { mkdtempSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import { type Deployed, type Emulator, startEmulator, until } from '../support/emulator/ministack.ts'
import { synthesise } from '../system/synthesise.ts'

/**
 * The synthesised template, created by an emulator of AWS that is not ours, and used over HTTP. It knows nothing of Baton, so it shows
 * what only our own local cloud accepts.
 */

const PATIENCE_MS = 120_000

const started = await startEmulator()
if (typeof started === 'string')
  console.log(`skipped: the foreign emulator does not run here, because ${started}`)

describe.skipIf(typeof started === 'string')('on an emulator that is not ours', () => {
  const emulator = started as Emulator
  const assembly = mkdtempSync('.baton/emulator-')
  let deployed: Deployed
  let api = ''
  /** The API asks for signatures. This key is the account's own. */
  const signed = signedFetch({
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })

  beforeAll(async () => {
    await synthesise('test/emulator/app.ts', resolve(assembly))
    deployed = await emulator.deploy(assembly, 'Foreign')
    const id = /\/\/([a-z0-9]+)\.execute-api/.exec(deployed.outputs.ApiUrl ?? '')?.[1]
    // The API's own address would need a name server for its host.
    api = `${emulator.url}/_aws/execute-api/${id}/$default`
  }, 600_000)

  afterAll(async () => {
    await emulator.stop()
    rmSync(assembly, { recursive: true, force: true })
  })

  /** Calls the API. The body of the answer, or its status if it is an error. */
  async function call(method: string, path: string, body?: unknown) {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    const answer = await signed(`${api}${path}`, { method, ...sent })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** Waits until the task has ended, and returns it. */
  const ended = (id: string) =>
    until(`the end of ${id}`, PATIENCE_MS, async () => {
      const { body } = await call('GET', `/v1/tasks/${encodeURIComponent(id)}`)
      return ['succeeded', 'failed', 'cancelled'].includes(body?.status) && body
    })

  it('every resource of the template is created', () => {
    expect(deployed.resources).toBeGreaterThan(70)
    expect(deployed.outputs.TableName).toBeTruthy()
  })

  it('a published task passes the stream and its queue to its handler', async () => {
    const { status } = await call('POST', '/v1/tasks', { type: 'double', key: 'one', input: { number: 21 } })

    expect(status).toBe(201)
    expect(await ended('double:one')).toMatchObject({ status: 'succeeded', result: { doubled: 42 } })
  })

  it('a flow does its steps, and undoes them when one fails', async () => {
    await call('POST', '/v1/tasks', { type: 'order', key: 'good', input: { cents: 100 } })
    await call('POST', '/v1/tasks', { type: 'order', key: 'bad', input: { cents: 5_000 } })

    const [good, bad] = await Promise.all([ended('order:good'), ended('order:bad')])

    expect(good).toMatchObject({
      status: 'succeeded',
      steps: [{ state: 'succeeded' }, { state: 'succeeded' }],
    })
    expect(bad).toMatchObject({ status: 'failed', steps: [{ state: 'undone' }, {}] })
  })

  it('a chord hands the results of its members on', async () => {
    const group = [1, 2, 3].map(number => ({ type: 'double', input: { number } }))
    const { body } = await call('POST', '/v1/canvases', {
      chord: { group, then: { type: 'sum', input: {} } },
    })

    const canvas = await until('the canvas', PATIENCE_MS, async () => {
      const { body: read } = await call('GET', `/v1/canvases/${encodeURIComponent(body.id)}`)
      return read?.status !== 'running' && read
    })

    expect(canvas).toMatchObject({
      status: 'succeeded',
      result: { results: [{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }] },
    })
  })

  it('a worker claims a task over HTTP, keeps it by a heartbeat, and finishes it', async () => {
    expect((await call('PUT', '/v1/types/pulled', { kind: 'http', defaults: {} })).status).toBe(201)
    await call('POST', '/v1/tasks', { type: 'pulled', key: 'one', input: { a: 1 } })

    const claim = await until('the claim', PATIENCE_MS, async () => {
      const { body } = await call('POST', '/v1/claims', { type: 'pulled', workerId: 'w1', limit: 1 })
      return body.claims[0]
    })
    const { id, fence } = claim.task.runs[0]
    const run = `/v1/tasks/pulled%3Aone/runs/${id}`
    const beat = await call('POST', `${run}/heartbeat`, { fence })
    const end = await call('POST', `${run}/succeed`, { fence, result: { b: 2 } })

    expect([beat.status, end.status]).toEqual([200, 200])
    expect(await ended('pulled:one')).toMatchObject({ status: 'succeeded', result: { b: 2 } })
  })

  it('a schedule publishes its task', async () => {
    const task = { type: 'double', input: { number: 4 } }
    const { status } = await call('PUT', '/v1/schedules/often', { everyMs: 2_000, task })

    const [tick] = await until('a tick', PATIENCE_MS, async () => {
      const { body } = await call('GET', '/v1/tasks?type=double&status=succeeded&limit=100')
      const ticks = body.items.filter((one: { id: string; scheduleName?: string }) =>
        one.id.includes('often'),
      )
      return ticks.length > 0 && ticks
    })
    await call('DELETE', '/v1/schedules/often')

    expect(status).toBe(201)
    expect(await ended(tick.id)).toMatchObject({ result: { doubled: 8 } })
  })

  it('a removed task is gone, and its key can be used again', async () => {
    const task = { type: 'double', key: 'gone', input: { number: 1 } }
    await call('POST', '/v1/tasks', task)
    await ended('double:gone')

    const removed = await call('DELETE', '/v1/tasks/double%3Agone')
    const missing = await call('GET', '/v1/tasks/double%3Agone')
    const again = await call('POST', '/v1/tasks', { ...task, input: { number: 2 } })

    expect([removed.status, missing.status, again.status]).toEqual([expect.any(Number), 404, 201])
    expect(removed.status).toBeLessThan(300)
    expect(await ended('double:gone')).toMatchObject({ result: { doubled: 4 } })
  })
})
