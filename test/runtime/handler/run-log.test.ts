import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { redactionOf } from '../../../shared/core/task-error/redact.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import type { Log } from '../../../shared/ports/machine.ts'
import { createRunLog } from '../../../shared/runtime/handler/run-log.ts'
import { aMemorySystem, stored } from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

const FAILED: Outcome = { outcome: 'fail', error: { name: 'E', message: 'no' } }

/** A run's log, and the lines that reached the log of its process. */
function aRunLog() {
  const system = aMemorySystem()
  const lines: unknown[] = []
  const write = (message: string, fields: object = {}) => lines.push([message, fields])
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const created = createRunLog({ ...system, log }, { taskId: 'resize:k' })
  const runLog = { ...created, ...created.log }
  const tail = () => {
    const outcome = runLog.endWithLog(FAILED)
    return outcome.outcome === 'fail' ? outcome.log : undefined
  }
  return { runLog, lines, tail }
}

describe('the log of a run', () => {
  it('goes to the log of the process with its ids, and is kept in order in case the run fails', () => {
    const { runLog, lines, tail } = aRunLog()

    runLog.info('fetching', { url: 'http://x' })
    runLog.debug('done')

    expect(lines).toEqual([
      ['fetching', { taskId: 'resize:k', url: 'http://x' }],
      ['done', { taskId: 'resize:k' }],
    ])
    expect(tail()?.split('\n')).toEqual([
      expect.stringMatching(/^2\d{3}-.*Z INFO fetching {"url":"http:\/\/x"}$/),
      expect.stringMatching(/^2\d{3}-.*Z DEBUG done$/),
    ])
    expect(runLog.endWithLog({ outcome: 'succeed' })).toEqual({ outcome: 'succeed' })
  })

  it.each([
    ['short lines', Array.from({ length: 500 }, (_, nth) => `line ${nth}`), 'line 499'],
    [
      'lines of characters of four bytes',
      Array.from({ length: 50 }, (_, nth) => `${'😀'.repeat(50)} ${nth}`),
      '49',
    ],
    ['a last line that is too long alone', ['before', '😀'.repeat(5_000)], '…'],
  ])('keeps the newest 4 KB of %s', (_name, messages, end) => {
    const { runLog, tail } = aRunLog()

    for (const message of messages) runLog.info(message)

    const newest = runLog.newest(1_024) ?? ''
    expect(Buffer.byteLength(newest)).toBeLessThanOrEqual(1_024)
    expect(newest.length).toBeGreaterThan(200)
    expect(newest.endsWith(end)).toBe(true)
    const kept = tail() ?? ''
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(4_096)
    expect(Buffer.byteLength(kept)).toBeGreaterThan(3_700)
    expect(kept.endsWith(end)).toBe(true)
    expect(kept.isWellFormed()).toBe(true)
  })

  it('never fails its handler, whatever the handler logs', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const error = new Error('outer')
    error.cause = error
    const { runLog, lines, tail } = aRunLog()

    runLog.info('circle', { circle })
    runLog.info('big', { count: 7n, error })

    expect(tail()).toContain('circle {fields that are not JSON: circle}')
    expect(tail()).toContain('"count":"7"')
    expect(lines[1]).toEqual([
      'big',
      expect.objectContaining({ error: expect.objectContaining({ message: 'outer' }) }),
    ])
  })

  it('does not let fields overwrite the ids of the run', () => {
    const { runLog, lines } = aRunLog()

    runLog.info('copying', { taskId: 'another', size: 1 })

    expect(lines).toEqual([['copying', { taskId: 'resize:k', size: 1 }]])
  })

  it('is written as text when the log of the process refuses the fields', () => {
    const system = aMemorySystem()
    const lines: unknown[] = []
    const strict = (message: string, fields: object = {}) => lines.push([message, JSON.stringify(fields)])
    const log: Log = { debug: strict, info: strict, warn: strict, error: strict }

    createRunLog({ ...system, log }, { taskId: 'resize:k' }).log.info('big', { count: 7n })

    expect(lines).toEqual([['big', JSON.stringify({ taskId: 'resize:k', fields: ' {"count":"7"}' })]])
  })

  it('does not show redacted values, and neither does the error', () => {
    const { runLog, lines } = aRunLog()
    runLog.hide(redactionOf(['card.number'], { card: { number: '4111' } }))

    runLog.info('charging 4111', { card: { number: '4111' } })
    const outcome = runLog.endWithLog({ outcome: 'fail', error: { name: 'E', message: '4111 is wrong' } })

    expect(JSON.stringify([lines, outcome])).not.toContain('4111')
    expect(outcome).toMatchObject({
      error: { message: '[redacted] is wrong' },
      log: expect.stringContaining('[redacted]'),
    })
  })
})

it('a redacted value does not show in an error deep within logged fields', () => {
  const { runLog, lines, tail } = aRunLog()
  runLog.hide(redactionOf(['card.number'], { card: { number: '4111' } }))

  runLog.warn('declined', { attempt: { error: new Error('4111 is wrong') } })

  expect(lines).toMatchObject([['declined', { attempt: { error: { message: '[redacted] is wrong' } } }]])
  expect(tail()).not.toContain('4111')
})

describe('a run that ended', () => {
  // biome-ignore lint/suspicious/noExplicitAny: handlers of any input
  type Run = (input: any, context: TaskContext) => unknown

  async function recordsAfter(run: Run, more: { redact?: string[]; localRetries?: number } = {}) {
    const system = aMemorySystem()
    const options = { retry: { localRetries: more.localRetries ?? 0 } }
    const task = await stored(system, { input: { token: 'secret-7' }, options })
    const redact = more.redact ?? []
    await runTask(
      system,
      task,
      { workerId: 'w1' },
      { definition: defineTask('resize', { input: z.unknown(), redact, run }) },
    )
    const { id, born } = task
    return { records: await system.tasks.runRecords(id, born, 10), head: await system.tasks.head(id) }
  }

  it('keeps what its handler logged, and the causes of its error', async () => {
    const { records, head } = await recordsAfter((_input, { log }) => {
      log.info('fetching')
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') })
    })

    expect(records).toMatchObject([
      {
        state: 'failed',
        log: expect.stringContaining('INFO fetching'),
        error: {
          name: 'TypeError',
          causes: [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1' }],
        },
      },
    ])
    expect(JSON.stringify(head)).not.toContain('fetching')
  })

  it('keeps what all its repetitions logged, and why each failed', async () => {
    const { records } = await recordsAfter(
      (_input, { log }) => {
        log.info('trying')
        throw new Error('not yet')
      },
      { localRetries: 1 },
    )

    const lines = records[0]?.log?.split('\n') ?? []
    expect(lines.map(line => line.split(' ').slice(1, 3).join(' '))).toEqual([
      'INFO trying',
      'INFO the',
      'INFO trying',
    ])
    expect(lines[1]).toContain('the handler failed')
    expect(lines[1]).toContain('not yet')
  })

  it('keeps no value that its definition marks as redacted', async () => {
    const { records } = await recordsAfter(
      (input, { log }) => {
        log.info(`with ${input.token}`, { input })
        throw new Error(`refused ${input.token}`)
      },
      { redact: ['token'] },
    )

    expect(JSON.stringify(records)).not.toContain('secret-7')
    expect(records[0]?.log).toContain('with [redacted] {"input":{"token":"[redacted]"}}')
    expect(records[0]?.error?.message).toBe('refused [redacted]')
  })

  it('stores no log when it succeeded', async () => {
    const { records, head } = await recordsAfter((_input, { log }) => log.info('all is well'))

    expect([records, JSON.stringify(head).includes('all is well')]).toEqual([[], false])
  })
})
