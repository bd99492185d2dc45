import { describe, expect, it } from 'vitest'
import { type Shown, terminalLine } from '../../../cli/dev/terminal.ts'

const AT = '2026-11-22T21:00:00.007Z'
const CLOCK = `${new Date(AT).toTimeString().slice(0, 8)}.007`
const FAILED = {
  level: 'WARN',
  message: 'run failed',
  timestamp: AT,
  service: 'Baton',
  taskId: 'resize:img-1',
  runId: '01J.7',
  attempt: 2,
  ms: 31,
  nextTry: '2026-11-22T21:00:04.007Z',
  error: {
    name: 'TypeError',
    message: 'fetch\nfailed',
    stack: 'TypeError: fetch failed\n    at …',
    causes: [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1' }],
  },
}
const HANDLER = 'ResizeFunction1A2B'
const OWN = 'Planner3C4D'

/** The line of a handler at each of `failures`, `runs` and `everything`. */
function seen(line: string | object, source = HANDLER) {
  const text = typeof line === 'string' ? line : JSON.stringify(line)
  const levels: Shown[] = ['failures', 'runs', 'everything']
  const isOwn = (one: string) => one === OWN
  return levels.map(shown => terminalLine({ source, line: text }, { shown, isOwn, folder: '/shop' }))
}

const always = (text: string) => [text, text, text]

describe('each run is one line:', () => {
  it.each([
    [
      'a failure with its time, task, duration, attempt, error, cause and next try',
      {},
      '✗ resize:img-1 failed after 31 ms (attempt 2): TypeError: fetch failed ← Error: connect ECONNREFUSED 127.0.0.1:1; next try in 4.0 s',
    ],
    [
      'a failure that is not tried again',
      { nextTry: 'never', status: 'failed', error: { name: 'Fatal', message: 'no' } },
      '✗ resize:img-1 failed after 31 ms (attempt 2): Fatal: no; it is not tried again',
    ],
    [
      'a flow that is undone',
      { nextTry: 'never', status: 'compensating', error: { name: 'E', message: 'no' } },
      '✗ resize:img-1 failed after 31 ms (attempt 2): E: no; its flow is undone now',
    ],
    [
      'a lost run',
      {
        message: 'run lost',
        ms: 15_040,
        nextTry: AT,
        error: { name: 'LeaseLost', message: 'w1 sent no heartbeat' },
      },
      '✗ resize:img-1 was lost after 15 s (attempt 2): LeaseLost: w1 sent no heartbeat; next try now',
    ],
  ])('%s, always', (_name, more, shown) => {
    expect(seen({ ...FAILED, ...more })).toEqual(always(`${CLOCK} ${shown}`))
    expect(seen({ ...FAILED, ...more }, OWN)).toEqual(always(`${CLOCK} ${shown}`))
  })

  it('a failure with its place in the project', () => {
    const stack =
      'TypeError: x\n    at load (/shop/node_modules/sharp/x.js:1:1)\n    at run (/shop/tasks/resize.ts:7:11)'
    const [line] = seen({ ...FAILED, error: { name: 'TypeError', message: 'no size', stack } })

    expect(line).toContain(': TypeError: no size (tasks/resize.ts:7:11); next try in')
  })

  const ended = { level: 'INFO', timestamp: AT, taskId: 'resize:k', runId: 'r', ms: 1_234 }

  it.each([
    ['a success', { message: 'run succeeded', attempt: 1 }, '✓ resize:k succeeded after 1.2 s'],
    [
      'a success after a failure',
      { message: 'run succeeded', attempt: 2 },
      '✓ resize:k succeeded after 1.2 s (attempt 2)',
    ],
    ['a release', { message: 'run released', attempt: 1 }, '↺ resize:k was released after 1.2 s'],
    ['a step', { message: 'run succeeded', step: 'pay', direction: 'do' }, '✓ resize:k pay done after 1.2 s'],
    [
      'a last undo',
      { message: 'run succeeded', step: 'pay', direction: 'undo', status: 'failed' },
      '↺ resize:k pay undone after 1.2 s; its flow has failed',
    ],
    [
      'a stage',
      { message: 'run succeeded', stage: 'fetch', attempt: 2 },
      '✓ resize:k fetch succeeded after 1.2 s (attempt 2)',
    ],
    ['a cancel', { message: 'run cancelled', attempt: 1 }, '∅ resize:k was cancelled after 1.2 s'],
  ])('%s, unless only failures are shown', (_name, more, shown) => {
    const text = `${CLOCK} ${shown}`

    expect(seen({ ...ended, ...more })).toEqual([undefined, text, text])
  })
})

describe('the terminal shows', () => {
  const info = {
    level: 'INFO',
    message: 'fetching',
    timestamp: AT,
    service: 'Baton',
    taskId: 'resize:k',
    url: 'x',
  }
  const infoText = `${CLOCK} resize:k fetching {"url":"x"}`

  it('what handlers log, with the task; what functions of Baton log, only when everything is shown', () => {
    expect(seen(info)).toEqual([undefined, infoText, infoText])
    expect(seen(info, OWN)).toEqual([undefined, undefined, infoText])
  })

  it('what handlers print', () => {
    const [none, shown] = seen('hello')

    expect(none).toBeUndefined()
    expect(shown).toMatch(/^\d\d:\d\d:\d\d\.\d{3} ResizeFunction1A2B hello$/)
  })

  it('errors of all functions', () => {
    const error = { level: 'ERROR', message: 'boom', timestamp: AT }

    expect(seen(error, OWN)).toEqual(always(`${CLOCK} ERROR ${OWN} boom`))
  })

  it('what the local cloud itself says', () => {
    expect(seen('NOT SUPPORTED locally: x', 'cloud')).toEqual(always('NOT SUPPORTED locally: x'))
  })

  it('no metrics', () => {
    expect(seen({ _aws: {}, Failed: 1 })).toEqual([undefined, undefined, undefined])
  })

  it('a long error on one line, cut', () => {
    const [line = ''] = seen({ ...FAILED, error: { name: 'E', message: 'long\n'.repeat(200) } })

    expect(line.length).toBeLessThan(450)
    expect(line).not.toContain('\n')
  })
})
