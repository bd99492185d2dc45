import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'

const COMMAND = ['cli/program/baton.ts', 'worker', 'test/system/tasks/by-workers.ts']

/** No system answers at this address, so the worker logs an error at each attempt. */
const NOWHERE = 'http://127.0.0.1:9'

it('a worker ends when no program reads its output any more', async () => {
  const worker = spawn(process.execPath, COMMAND, {
    cwd: resolve(import.meta.dirname, '../..'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...{ BATON_TABLE: 'tasks', BATON_SYSTEM: 'system', BATON_WAKE_QUEUE_URL: `${NOWHERE}/1/wake` },
      ...{ AWS_ENDPOINT_URL: NOWHERE, AWS_REGION: 'us-east-1' },
      ...{ AWS_ACCESS_KEY_ID: 'none', AWS_SECRET_ACCESS_KEY: 'none' },
    },
  })
  const ended = once(worker, 'exit')
  await once(worker.stdout, 'data')

  worker.stdout.destroy()
  worker.stderr.destroy()

  expect(await ended).toEqual([1, null])
})
