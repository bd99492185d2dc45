import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { defineTask } from '../../shared/define/define-task.ts'
import { runTask } from '../../shared/testing/run-task.ts'
import { fromSources, snippets } from '../support/snippets.ts'

const FOLDER = '.baton/handlers-guide'

const code = snippets('docs/handlers.md', 'ts').find(snippet => snippet.includes('RetryLater')) ?? ''
mkdirSync(FOLDER, { recursive: true })
writeFileSync(join(FOLDER, 'charge.ts'), fromSources(code, FOLDER))
const { charge }: { charge: ReturnType<typeof defineTask> } = await import(resolve(FOLDER, 'charge.ts'))

it.each([
  [200, { outcome: 'succeeded' }],
  [429, { outcome: 'retry', error: { name: 'RetryLater' }, retryInMs: 7_000 }],
  [402, { outcome: 'failed', error: { name: 'Fatal', message: 'answered 402' } }],
  [503, { outcome: 'retry', error: { name: 'Error', message: 'answered 503' }, retryInMs: 1_000 }],
])('the handler of the guide that retries by status answers %i as it says', async (status, expected) => {
  vi.stubGlobal('fetch', async () => Response.json({}, { status, headers: { 'retry-after': '7' } }))

  const run = await runTask(charge, {})

  expect(run).toMatchObject(expected)
  vi.unstubAllGlobals()
})
