import { describe, expect, it } from 'vitest'
import { readDefinition } from '../../../infra/types/definition.ts'

const FIXTURES = 'test/infra/fixtures'

it('The only task that an entry exports is found among its other exports', () => {
  const { type, config, exportName, file } = readDefinition(`${FIXTURES}/resize.ts`)

  expect({ type, config, exportName }).toEqual({
    type: 'resize',
    config: { kind: 'handler', defaults: { timeoutMs: 60_000 } },
    exportName: 'resize',
  })
  expect(file.endsWith(`/${FIXTURES}/resize.ts`)).toBe(true)
})

it('One of several tasks is chosen by its export', () => {
  expect(readDefinition(`${FIXTURES}/two-tasks.ts`, 'second').type).toBe('images.second')
})

it('The JSON Schema of an input is registered, if its library gives one', () => {
  const { config } = readDefinition(`${FIXTURES}/with-input.ts`, 'label')

  expect(config.inputSchema).toMatchObject({
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
  })
  const dated = readDefinition(`${FIXTURES}/with-input.ts`, 'dated').config.inputSchema
  expect(dated).toEqual({ type: 'object', properties: { at: {} }, required: ['at'] })
})

describe('An entry is refused', () => {
  it.each([
    ['that is not there', 'absent.ts', undefined, `there is no file ${FIXTURES}/absent.ts`],
    ['without a task', 'no-task.ts', undefined, 'exports no task'],
    ['with several tasks, naming them', 'two-tasks.ts', undefined, "exports 'first', 'second'; choose one"],
    [
      'without the chosen task, naming its tasks',
      'two-tasks.ts',
      'third',
      "no task definition 'third'; it exports 'first', 'second'",
    ],
    ['that throws, with its reason', 'broken.ts', undefined, 'the licence has expired'],
    ['that cannot be loaded synchronously', 'awaiting.ts', undefined, 'awaits at its top level'],
    [
      'with an option that is wrong, naming file, type and field',
      'wrong-option.ts',
      undefined,
      `${FIXTURES}/wrong-option.ts: task 'wrong': retry.maxRetries must be a whole number from 0 to 1000, not -1`,
    ],
    [
      'with a wrong option in what no defineTask has made',
      'wrong-by-hand.ts',
      undefined,
      `${FIXTURES}/wrong-by-hand.ts, 'wrong': retry.backoff must be one of exponential, fixed, fibonacci, ladder, not 'expo'`,
    ],
    ['whose options are not JSON', 'not-json.ts', undefined, "the option 'priority' is a function"],
  ])('%s', (_why, file, task, message) => {
    expect(() => readDefinition(`${FIXTURES}/${file}`, task)).toThrow(message)
  })
})
