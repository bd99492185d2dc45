import { beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type Client, createClient } from '../../../shared/client/client.ts'
import { chain, chord } from '../../../shared/define/canvases.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import { defineFlow } from '../../../shared/define/flow/define-flow.ts'
import { createHttpWorker } from '../../../shared/worker/create-worker.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()
let client: Client
beforeAll(async () => {
  client = createClient({ url: system.cloud.apiUrl, timeoutMs: 120_000 })
  await client.putType('sheet', { kind: 'http' })
})
const LATER = { delayMs: 3_600_000 }
const sheet = (key: string) => client.publish('sheet', { key }, { key, ...LATER })

const anId = async (key: string) => (await sheet(key)).id

async function taken<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

/** A type of its own with one running task of it: what the worker `w` reports about. */
async function aRun(type: string) {
  await client.putType(type, { kind: 'http' })
  await client.publish(type, undefined, { key: 'a' })
  const { claims } = await client.claim({ type, workerId: 'w', waitMs: 20_000 })
  const [claim] = claims
  if (!claim) throw new Error(`no task of ${type} could be claimed`)
  return { taskId: claim.task.id, runId: claim.run.id, fence: claim.run.fence }
}

/** The id of the last task of a chord, which is published when the group has ended. */
async function anEndOfAChord(): Promise<string> {
  const words = { type: 'word-count', input: { text: 'a b' } }
  const { id } = await client.publish(chord([words, words], { type: 'sheet', ...LATER }))
  const last = async () => (await taken(client.canvasItems(id))).at(-1)
  await expect.poll(last, { timeout: 120_000, interval: 200 }).toMatchObject({ status: 'delayed' })
  return (await last())?.taskId ?? ''
}

/** One call of each operation, and what it shows. No operation of the client may be missing. */
const OPERATIONS: { readonly [Operation in keyof Client]: () => Promise<void> } = {
  publish: async () =>
    expect(await client.publish({ type: 'sheet', key: 'published', ...LATER })).toMatchObject({
      id: 'sheet:published',
      created: true,
    }),
  publishMany: async () => {
    const results = await client.publishMany([{ type: 'sheet', key: 'many', ...LATER }, { type: 'nowhere' }])
    expect(results).toMatchObject([{ status: 201, id: 'sheet:many' }, { status: 404 }])
  },
  get: async () => {
    const { id } = await sheet('get @,=+ ü~')
    expect(await client.get(id)).toMatchObject({ id, status: 'delayed', input: { key: 'get @,=+ ü~' } })
  },
  why: async () =>
    expect(await client.why(await anId('why'))).toMatchObject({ id: 'sheet:why', reason: 'due' }),
  listPage: async () => {
    await sheet('page')
    expect((await client.listPage({ type: 'sheet', limit: 1 })).items).toHaveLength(1)
  },
  list: async () => {
    const { id } = await sheet('list')
    const ids = (await taken(client.list({ type: 'sheet', limit: 10 }))).map(task => task.id)
    expect(ids).toContain(id)
  },
  previous: async () => {
    const id = await anEndOfAChord()
    expect((await client.previous(id, { limit: 1 })).items).toHaveLength(1)
  },
  allPrevious: async () => {
    const id = await anEndOfAChord()
    expect(await taken(client.allPrevious(id))).toHaveLength(2)
  },
  patch: async () =>
    expect(await client.patch(await anId('patch'), { priority: 7 })).toMatchObject({ priority: 7 }),
  remove: async () => {
    const { id } = await sheet('remove')
    expect(await client.remove(id)).toBeUndefined()
    await expect(client.get(id)).rejects.toMatchObject({ code: 'not-found' })
  },
  cancel: async () =>
    expect(await client.cancel(await anId('cancel'))).toMatchObject({ status: 'cancelled' }),
  retry: async () => {
    const { id, cancel } = await sheet('retry')
    await cancel()
    expect(await client.retry(id)).toMatchObject({ id, status: 'ready' })
  },
  canvases: async () => {
    const { id } = await client.publish(chain({ type: 'sheet', ...LATER }))
    const running = async () => (await client.canvases({ status: ['running'], limit: 100 })).items
    await expect
      .poll(running)
      .toContainEqual(expect.objectContaining({ id, form: 'chain', tasks: 1, ended: 0 }))
  },
  allCanvases: async () => {
    const { id } = await client.publish(chain({ type: 'sheet', ...LATER }))
    await expect.poll(() => taken(client.allCanvases())).toContainEqual(expect.objectContaining({ id }))
  },
  canvas: async () => {
    const { id } = await client.publish(chain({ type: 'sheet', ...LATER }, { type: 'sheet' }))
    expect(await client.canvas(id, { limit: 1 })).toMatchObject({ id, nextCursor: expect.any(String) })
  },
  canvasItems: async () => {
    const { id } = await client.publish(chain({ type: 'sheet', ...LATER }, { type: 'sheet' }))
    expect(await taken(client.canvasItems(id))).toHaveLength(2)
  },
  cancelCanvas: async () => {
    const { id } = await client.publish(chain({ type: 'sheet', ...LATER }))
    expect(await client.cancelCanvas(id)).toMatchObject({ id })
  },
  canvasResult: async () => {
    const words = chain({ type: 'word-count', input: { text: 'a b' } })
    const { id } = await client.publish(words)
    expect(await client.canvasResult(words, id)).toBeDefined()
  },
  result: async () => {
    const { id } = await client.publish('word-count', { text: 'a b c' })
    expect(await client.result('word-count', id)).toBeDefined()
  },
  putSchedule: async () => expect(await putSchedule('put')).toMatchObject({ name: 'put' }),
  schedule: async () =>
    expect(await client.schedule(await aSchedule('read'))).toMatchObject({ name: 'read', paused: false }),
  schedules: async () => {
    await putSchedule('page')
    expect((await client.schedules({ limit: 1 })).items).toHaveLength(1)
  },
  allSchedules: async () => {
    await putSchedule('all')
    expect((await taken(client.allSchedules())).map(({ name }) => name)).toContain('all')
  },
  removeSchedule: async () => {
    await putSchedule('removed')
    await client.removeSchedule('removed')
    await expect(client.schedule('removed')).rejects.toMatchObject({ code: 'not-found' })
  },
  pauseSchedule: async () =>
    expect(await client.pauseSchedule(await aSchedule('paused'))).toMatchObject({ paused: true }),
  resumeSchedule: async () => {
    await putSchedule('resumed')
    await client.pauseSchedule('resumed')
    expect(await client.resumeSchedule('resumed')).toMatchObject({ paused: false })
  },
  ticks: async () => expect(await client.ticks(await aSchedule('ticked'))).toEqual({ items: [] }),
  allTicks: async () => expect(await taken(client.allTicks(await aSchedule('ticked-too')))).toEqual([]),
  triggerSchedule: async () =>
    expect(await client.triggerSchedule(await aSchedule('triggered'))).toMatchObject({
      taskId: expect.any(String),
    }),
  failures: async () => expect(await client.failures({ type: ['sheet'] })).toEqual({ items: [] }),
  log: async () => {
    await expect(client.log('sheet:none')).rejects.toMatchObject({ code: 'not-found' })
  },
  searchPage: async () =>
    expect(await client.searchPage({ q: 'no such text' })).toMatchObject({ items: [], matches: [] }),
  search: async () => expect(await taken(client.search('no such text'))).toEqual([]),
  startBulk: async () =>
    expect(await client.startBulk({ action: 'replay', type: 'sheet' })).toEqual({ id: expect.any(String) }),
  bulk: async () => {
    const { id } = await client.startBulk({ action: 'replay', type: 'sheet', dryRun: true })
    const isOver = async () => (await client.bulk(id)).state === 'finished'
    await expect.poll(isOver, { timeout: 60_000 }).toBe(true)
  },
  deadLettersPage: async () => expect(await client.deadLettersPage({ queue: 'jobs' })).toEqual({ items: [] }),
  deadLetters: async () => expect(await taken(client.deadLetters({ queue: 'jobs' }))).toEqual([]),
  replayDeadLetters: async () => {
    expect(await client.replayDeadLetters({ queue: 'jobs' })).toEqual({ results: [] })
    const { results } = await client.replayDeadLetters({ ids: ['none'] })
    expect(results).toMatchObject([{ id: 'none', status: 404 }])
  },
  allFailures: async () => expect(await taken(client.allFailures({ type: ['sheet'] }))).toEqual([]),
  counts: async () => expect(await client.counts('sheet', { atMost: 10 })).toMatchObject({ running: 0 }),
  countsPage: async () =>
    expect(await client.countsPage({ atMost: 10, limit: 1 })).toMatchObject({
      items: [{ counts: { failed: 0 } }],
    }),
  activity: async () =>
    expect(await client.activity({ type: ['sheet'], minutes: 5 })).toMatchObject({
      items: [{ type: 'sheet' }],
    }),
  limits: async () => {
    await client.putType('limited', { kind: 'http', limits: { concurrency: { max: 2, key: 'userId' } } })
    expect(await client.limits('limited', { concurrencyValue: 'ada' })).toEqual({
      type: 'limited',
      concurrency: { max: 2, key: 'userId', value: 'ada', held: 0, holders: [] },
    })
  },
  types: async () => expect((await client.types({ limit: 1 })).items).toHaveLength(1),
  allTypes: async () => expect((await taken(client.allTypes())).map(({ type }) => type)).toContain('sheet'),
  type: async () => expect(await client.type('sheet')).toMatchObject({ type: 'sheet', kind: 'http' }),
  putType: async () => expect(await client.putType('put', { kind: 'http' })).toMatchObject({ type: 'put' }),
  pause: async () => {
    await client.putType('to-pause', { kind: 'http' })
    expect(await client.pause('to-pause')).toMatchObject({ type: 'to-pause', paused: true })
  },
  resume: async () => {
    await client.putType('to-resume', { kind: 'http' })
    await client.pause('to-resume')
    expect(await client.resume('to-resume')).toMatchObject({ type: 'to-resume', paused: false })
  },
  purge: async () => {
    await client.putType('to-purge', { kind: 'http' })
    expect(await client.purge('to-purge', { status: ['failed'] })).toMatchObject({ type: 'to-purge' })
  },
  health: async () => expect(await client.health()).toMatchObject({ status: 'ok' }),
  openapi: async () =>
    expect(await client.openapi()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) }),
  attention: async () => expect(await client.attention()).toMatchObject({ halted: [], deadLetters: [] }),
  workers: async () => {
    await client.claim({ type: 'sheet', workerId: 'reader' })
    expect((await client.workers({ limit: 1 })).items).toHaveLength(1)
  },
  allWorkers: async () => {
    await client.claim({ type: 'sheet', workerId: 'all-reader' })
    expect((await taken(client.allWorkers())).map(({ id }) => id)).toContain('all-reader')
  },
  claim: async () => expect(await aRun('to-claim')).toMatchObject({ taskId: 'to-claim:a' }),
  heartbeat: async () => {
    const { taskId, runId, fence } = await aRun('to-renew')
    expect(await client.heartbeat(taskId, runId, { fence })).toMatchObject({ leaseUntil: expect.any(String) })
  },
  succeed: async () => {
    const { taskId, runId, fence } = await aRun('to-succeed')
    expect(await client.succeed(taskId, runId, { fence, result: 1 })).toMatchObject({ status: 'succeeded' })
  },
  fail: async () => {
    const { taskId, runId, fence } = await aRun('to-fail')
    const failure = { fence, fatal: true, error: { name: 'Odd', message: 'no' } }
    expect(await client.fail(taskId, runId, failure)).toMatchObject({ status: 'failed' })
  },
  release: async () => {
    const { taskId, runId, fence } = await aRun('to-release')
    expect(await client.release(taskId, runId, { fence })).toMatchObject({ status: 'ready' })
  },
  heartbeatMany: async () =>
    expect(await client.heartbeatMany([await aRun('to-renew-many')])).toMatchObject([{ status: 200 }]),
  finishMany: async () => {
    const end = { ...(await aRun('to-finish')), outcome: 'succeed' as const }
    expect(await client.finishMany([end])).toMatchObject([{ status: 200, task: { status: 'succeeded' } }])
  },
  events: async () => {
    const stop = new AbortController()
    const first = client.events({ taskIds: ['sheet:told'], signal: stop.signal }).next()
    // Only events after the connection are sent. A repeated change causes an event whenever the connection is open.
    const { id } = await sheet('told')
    const changing = (async () => {
      for (let priority = 1; !stop.signal.aborted; priority++) await client.patch(id, { priority })
    })()
    expect((await first).value).toMatchObject({ taskId: id })
    stop.abort()
    await changing
  },
}

const putSchedule = (name: string) =>
  client.putSchedule(name, { everyMs: 86_400_000, task: { type: 'sheet' } })
const aSchedule = async (name: string) => (await putSchedule(name)).name

describe('the client, against a system,', () => {
  it.concurrent.each(Object.entries(OPERATIONS))('has %s', async (_name, call) => call())

  it('has no operation that is missing above', () => {
    expect(Object.keys(client).sort()).toEqual(Object.keys(OPERATIONS).sort())
  })
})

describe('a worker over HTTP', () => {
  const copy = defineTask('copy', {
    input: z.object({ n: z.int() }),
    stages: {
      first: ({ n }, ctx) => ctx.next('second', { input: { n: n + 1 } }),
      second: input => input,
    },
  })
  const add = defineTask('total', { run: (_input, ctx) => ({ sum: ctx.params, step: ctx.step }) })
  const sum = defineFlow('sum', { steps: [{ name: 'one', do: add }] })

  it('runs tasks, stages and steps, and stops', async () => {
    await Promise.all([client.putType('copy', { kind: 'http' }), client.putType('total', { kind: 'http' })])
    await client.putType('sum', sum.config)
    const worker = createHttpWorker({ client, tasks: [copy, sum], concurrency: 3, waitMs: 1_000 })
    worker.start()
    const copies = await client.publishMany(
      Array.from({ length: 5 }, (_, n) => ({ type: 'copy', input: { n } })),
    )
    const flow = await client.publish('sum', { a: 1 })

    const results = await Promise.all(copies.map(({ id = '' }) => client.result('copy', id)))

    expect(results).toEqual([1, 2, 3, 4, 5].map(n => ({ n })))
    expect(await flow.result()).toEqual({ sum: { a: 1 }, step: 'one' })
    await worker.stop()
    expect(worker.running()).toBe(0)
  })
})
