import { describe, expect, test } from 'vitest'
import { terminalLine } from '../../scripts/terminal-lines.ts'

const AT = '2026-11-22T21:00:00.000Z'
const FAILED = {
  level: 'WARN',
  message: 'run failed',
  timestamp: AT,
  service: 'Baton',
  taskId: 'resize:img-1',
  runId: '01J.7',
  attempt: 2,
  ms: 31,
  nextTry: '2026-11-22T21:00:04.000Z',
  error: {
    name: 'TypeError',
    message: 'fetch\nfailed',
    stack: 'TypeError: fetch failed\n    at …',
    causes: [{ name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:1' }],
  },
}
const line = (fields: object) => `TasksHandlersResizeFunction1A2B: ${JSON.stringify(fields)}`

describe('the terminal shows', () => {
  test.each([
    [
      'a failure in one line: task, attempt, error with its cause, next try',
      {},
      '✗ resize:img-1 failed (attempt 2): TypeError: fetch failed ← Error: connect ECONNREFUSED 127.0.0.1:1; next try in 4.0 s',
    ],
    [
      'that it is not tried again',
      { nextTry: 'never', status: 'failed', error: { name: 'Fatal', message: 'no' } },
      '✗ resize:img-1 failed (attempt 2): Fatal: no; it is not tried again',
    ],
    [
      'that a flow is undone',
      { nextTry: 'never', status: 'compensating', error: { name: 'E', message: 'no' } },
      '✗ resize:img-1 failed (attempt 2): E: no; its flow is undone now',
    ],
    [
      'a lost run',
      { message: 'run lost', nextTry: AT, error: { name: 'LeaseLost', message: 'w1 sent no heartbeat' } },
      '✗ resize:img-1 was lost (attempt 2): LeaseLost: w1 sent no heartbeat; next try now',
    ],
  ])('%s', (_name, more, shown) => {
    expect(terminalLine(line({ ...FAILED, ...more }), false)).toBe(shown)
    expect(terminalLine(line({ ...FAILED, ...more }), true)).toBe(shown)
  })

  const info = line({
    level: 'INFO',
    message: 'fetching',
    timestamp: AT,
    service: 'Baton',
    taskId: 'resize:k',
    url: 'x',
  })

  test.each([
    ['what handlers log', info, undefined, '21:00:00.000 INFO  resize:k fetching {"url":"x"}'],
    ['what handlers print', 'ResizeFunction: hello', undefined, 'ResizeFunction: hello'],
    [
      'errors of the system',
      line({ level: 'ERROR', message: 'boom', timestamp: AT }),
      '21:00:00.000 ERROR TasksHandlersResizeFunction1A2B boom',
      '21:00:00.000 ERROR TasksHandlersResizeFunction1A2B boom',
    ],
    [
      'what is not supported locally',
      'NOT SUPPORTED locally: x',
      'NOT SUPPORTED locally: x',
      'NOT SUPPORTED locally: x',
    ],
    ['no metrics', line({ _aws: {}, Failed: 1 }), undefined, undefined],
  ])('%s', (_name, given, usually, verbose) => {
    expect([terminalLine(given, false), terminalLine(given, true)]).toEqual([usually, verbose])
  })
})
