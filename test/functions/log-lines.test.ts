import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { prices } from '../../local/gateway/meter.ts'
import { create } from '../../shared/core/publish.ts'
import { claim } from '../../shared/core/run/claim.ts'
import { finish } from '../../shared/core/run/finish.ts'
import { logRunEnds } from '../../shared/runtime/kernel/log-run-ends.ts'
import { aPublication, BORN, changeOf } from '../support/tasks/a-task.ts'

/** A time at which fences have nine digits, as from 2029 to 2057. */
const AT = Date.UTC(2034, 0, 1, 12)
const KEY = 'k'.repeat(40 - 'resize:'.length)
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

let lines: string[]
beforeEach(() => {
  lines = []
  vi.resetModules()
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'Baton')
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO')
  vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0')
  const write = (text: string | Uint8Array) =>
    lines.push(
      ...String(text)
        .split('\n')
        .filter(line => line.startsWith('{')),
    ) > 0
  // Powertools has a console of its own on the process's output.
  vi.spyOn(process.stdout, 'write').mockImplementation(write)
  vi.spyOn(process.stderr, 'write').mockImplementation(write)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

it('a successful run writes one line, with the length and price in docs/operations.md', async () => {
  const { log } = await import('../../functions/compose/compose.ts')
  const published = create(aPublication({ key: KEY, traceparent: TRACE, dueAt: AT }), undefined, AT).after
  const running = changeOf(claim(published, { workerId: 'w1' }, AT)).after

  logRunEnds(
    { log, metrics: { add: () => undefined } },
    changeOf(finish(running, { born: BORN, fence: running.fence, outcome: 'succeed' }, AT + 12, 0)),
  )

  expect(lines.map(line => JSON.parse(line).message)).toEqual(['run succeeded'])
  const bytes = Buffer.byteLength(lines[0] ?? '')
  const perMillion = ((bytes * 1e6) / 1e9) * prices.logGigabyte
  const docs = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [, said, price] =
    /a line of (\d+) bytes for each successful run.* \| ([\d.]+) per million tasks/.exec(docs) ?? []
  expect([said, price]).toEqual([String(bytes), perMillion.toFixed(2)])
})

it('the log of an error whose causes form a circle throws nothing', async () => {
  const { log } = await import('../../functions/compose/compose.ts')
  const error = new Error('round')
  error.cause = error

  log.warn('failed', { error })

  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'WARN',
    error: { name: 'Error', message: 'round' },
  })
})
