import { afterEach, expect, it, vi } from 'vitest'
import { logLevelOfEnvironment } from '../../shared/aws/environment.ts'
import { createConsoleLog } from '../../shared/worker/console-log.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

/** The lines that a log of the environment's level prints. */
function printed(level: string | undefined, write: (log: ReturnType<typeof createConsoleLog>) => void) {
  vi.stubEnv('BATON_LOG_LEVEL', level)
  const lines: Array<Record<string, unknown>> = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(JSON.parse(line)))
  write(createConsoleLog(logLevelOfEnvironment()))
  return lines
}

it.each([
  [undefined, ['INFO', 'WARN', 'ERROR']],
  ['', ['INFO', 'WARN', 'ERROR']],
  ['debug', ['DEBUG', 'INFO', 'WARN', 'ERROR']],
  ['WARN', ['WARN', 'ERROR']],
])('a worker with BATON_LOG_LEVEL %j writes the levels %j', (level, levels) => {
  const lines = printed(level, log => {
    for (const name of ['debug', 'info', 'warn', 'error'] as const) log[name]('said')
  })

  expect(lines.map(line => line.level)).toEqual(levels)
})

it('an unknown level is refused by name', () => {
  expect(() => printed('loud', () => undefined)).toThrow(
    'BATON_LOG_LEVEL is loud; it must be one of debug, info, warn, error',
  )
})

it('a field called like a fixed part of the line does not overwrite it', () => {
  const [line] = printed(undefined, log => log.warn('said', { level: 'DEBUG', message: 'no', size: 1 }))

  expect(line).toMatchObject({ level: 'WARN', message: 'said', size: 1 })
})

it('an error is written with its causes, also when they are circular', () => {
  const error: Error = new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })
  const circle = new Error('round')
  circle.cause = circle

  const [first, second] = printed(undefined, log => {
    log.warn('failed', { error })
    log.warn('failed', { deep: { error: circle } })
  })

  expect(first?.error).toMatchObject({
    name: 'TypeError',
    causes: [{ name: 'Error', message: 'ECONNREFUSED' }],
  })
  expect(second?.deep).toMatchObject({ error: { message: 'round' } })
})
