import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, createClient } from '../../../shared/client/client.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { HttpWorker, HttpWorkerOptions } from '../../../shared/worker/create-worker.ts'
import { createHttpWorker } from '../../../shared/worker/create-worker.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'
import { chatty } from '../../worker/fixtures/chatty.ts'

/** A worker over HTTP on the whole local system. `test/worker/both-kinds.test.ts` has what all workers promise. */

const system = aLocalSystem()
let client: Client
let worker: HttpWorker | undefined
beforeAll(async () => {
  client = createClient({ url: system.cloud.apiUrl, timeoutMs: 120_000 })
})
afterAll(async () => {
  await worker?.stop({ timeoutMs: 0 })
})

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

async function serving(options: HttpWorkerOptions): Promise<HttpWorker> {
  for (const { type } of options.tasks) await client.putType(type, { kind: 'http' })
  await worker?.stop({ timeoutMs: 0 })
  worker = createHttpWorker({ client, log, waitMs: 1_000, ...options })
  worker.start()
  return worker
}

it('has hooks around its runs, which are processes of their own', async () => {
  const seen: unknown[] = []
  await serving({
    tasks: [chatty],
    isolate: { file: 'test/worker/fixtures/chatty.ts' },
    beforeRun: ({ task }) => seen.push(['before', task.key]),
    afterRun: ({ task, outcome }) => seen.push(['after', task.key, outcome]),
    onError: ({ task, error }) => seen.push(['error', task?.key, (error as Error).name]),
  })
  const at = '2026-01-01T12:00:00.000Z'
  const options = { key: 'a', retry: { maxRetries: 0 } }

  const result = await client.publish('chatty', { does: 'tell', at }, options).then(one => one.result())
  const death = client.publish('chatty', { does: 'die', at }, { ...options, key: 'b' })

  await expect(death.then(one => one.result())).rejects.toThrow(/ProcessDied/)
  await expect.poll(() => seen.length).toBe(5)
  expect(result).toMatchObject({ key: 'a' })
  expect(result).not.toMatchObject({ pid: process.pid })
  expect(seen).toEqual([
    ['before', 'a'],
    ['after', 'a', 'succeed'],
    ['before', 'b'],
    ['error', 'b', 'ProcessDied'],
    ['after', 'b', 'fail'],
  ])
})

it('runs more tasks at a time from its next claim on, after setConcurrency', async () => {
  const opened = Promise.withResolvers<void>()
  let running = 0
  const gate = defineTask('gate', {
    run: async () => {
      running += 1
      await opened.promise
    },
  })
  const { setConcurrency } = await serving({ tasks: [gate], concurrency: 1 })
  const published = await Promise.all(['a', 'b', 'c'].map(key => client.publish(gate, undefined, { key })))
  await expect.poll(() => running).toBe(1)

  setConcurrency(3)
  await expect.poll(() => running).toBe(3)
  opened.resolve()

  await Promise.all(published.map(one => one.result()))
})
