import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { BatonError } from '../../shared/core/values/values.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import type { OutputOf, TaskContext, TaskDefinition } from '../../shared/define/definitions.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { Fatal, Next } from '../../shared/signals.ts'
import { anApi, type Shown } from '../support/http/an-api.ts'
import { BAD_OPTIONS, type Bad } from '../support/http/bad-fields.ts'

const page = defineTask('page', {
  input: z.object({ url: z.string() }),
  timeoutMs: 1_000,
  stages: {
    fetch: ({ url }, ctx) => ctx.next('store', { input: { url: `${url}?fetched` }, priority: 2 }),
    store: async ({ url }, ctx) => (url === '' ? ctx.next('give-up') : { bytes: url.length }),
    'give-up': () => 'given up',
  },
})

/** The part of a context that stages use. */
function inStage(stage?: string): TaskContext {
  const next: TaskContext['next'] = (to, options) => new Next(to, options)
  return { ...(stage !== undefined && { stage }), next } as TaskContext
}

// biome-ignore lint/suspicious/noExplicitAny: the compiler must not check the value
const define = (definition: any) => () => defineTask('page', definition)

describe('a task with stages', () => {
  it('runs its first stage at the beginning, and later the stage that it is in', async () => {
    const first = await page.run({ url: 'a' }, inStage())
    const second = await page.run({ url: 'abc' }, inStage('store'))

    expect(first).toEqual(new Next('store', { input: { url: 'a?fetched' }, priority: 2 }))
    expect(second).toEqual({ bytes: 3 })
  })

  it('lists its stages, and has the same configuration as another task', () => {
    expect(page.stages).toEqual(['fetch', 'store', 'give-up'])
    expect(page.config).toEqual({ kind: 'handler', defaults: { timeoutMs: 1_000 } })
  })

  it('has `events` as a setting of its type, not as a default of its tasks', () => {
    const withEvents = defineTask('page', { run: () => null, events: true })
    const flow = defineFlow('pages', { steps: [{ name: 'one', do: withEvents }], events: true })

    expect(withEvents.config).toEqual({ kind: 'handler', defaults: {}, events: true })
    expect(flow.config).toMatchObject({ defaults: {}, events: true })
  })

  it('fails for good in an unknown stage, and the error lists its stages', () => {
    const run = () => page.run({ url: 'a' }, inStage('print'))

    expect(run).toThrow(Fatal)
    expect(run).toThrow("page has no stage 'print'; its stages are fetch, store, give-up")
    expect(() => page.run({ url: 'a' }, inStage('toString'))).toThrow(Fatal)
  })

  it('fails for good at once when it moves to an unknown stage', () => {
    const lost = define({ stages: { only: (_input: unknown, ctx: TaskContext) => ctx.next('other') } })()

    expect(() => lost.run(undefined as never, inStage())).toThrow("page has no stage 'other'")
  })

  it('has the result type that its stages return, without `next`', () => {
    expectTypeOf<OutputOf<typeof page>>().toEqualTypeOf<{ bytes: number } | string>()
    expectTypeOf(page).toExtend<TaskDefinition>()
  })
})

describe('a task is refused', () => {
  it.each([
    ['without a handler', {}, "give either 'run' or 'stages', one of them"],
    ['with a handler and stages', { run: () => 1, stages: { a: () => 1 } }, 'not both'],
    ['with no stages', { stages: {} }, "'stages' is empty"],
    ['with a stage of no name', { stages: { '': () => 1 } }, "a stage cannot be named ''"],
    [
      'with a stage whose name is a number, which JavaScript would put first',
      { stages: { b: () => 1, 1: () => 2 } },
      "'1'",
    ],
  ])('%s', (_why, definition, message) => {
    expect(define(definition)).toThrow(BatonError)
    expect(define(definition)).toThrow(message)
  })

  it.each(['', 'a b', 'x'.repeat(101), 'canvas'])("whose type is '%s'", type => {
    expect(() => defineTask(type, { run: () => 1 })).toThrow(`'${type}' is not a task type`)
  })
})

describe('a wrong option is refused by defineTask, with the message of the API', () => {
  it.each<[string, object, string]>([
    [
      'a number',
      { retry: { maxRetries: -1 } },
      "task 'page': retry.maxRetries must be a whole number from 0 to 1000, not -1",
    ],
    [
      'a word',
      { retry: { backoff: 'expo' } },
      "retry.backoff must be one of exponential, fixed, fibonacci, ladder, not 'expo'; did you mean 'exponential'?",
    ],
    [
      'a value that is not a number',
      { timeoutMs: Number.NaN },
      'timeoutMs must be a whole number of milliseconds from 1',
    ],
    [
      'a limit',
      { limits: { rate: { limit: 0, perMs: 1_000 } } },
      'limits.rate.limit must be a whole number from 1',
    ],
    [
      'an order',
      { ordering: 'priorities' },
      "ordering must be one of arrival, priority, aged, not 'priorities'",
    ],
    [
      'options that do not fit together',
      { heartbeatMs: 9_000, leaseMs: 5_000 },
      'heartbeatMs must be less than leaseMs',
    ],
    ['an unknown field', { retries: 3 }, "retries is not a field here; did you mean 'retry'?"],
    ['two options', { priority: 1.5, shards: 0 }, 'shards must be a whole number from 1 to 64, not 0'],
  ])('%s', (_what, options, message) => {
    expect(define({ run: () => 1, ...options })).toThrow(BatonError)
    expect(define({ run: () => 1, ...options })).toThrow(message)
  })

  it.each<Bad>(BAD_OPTIONS)(
    '%s: %j is refused with the same sentence as in the API',
    async (field, value, path = field) => {
      const api = await anApi()
      const { body } = await api.call('PUT', '/v1/types/page', {
        kind: 'handler',
        defaults: { [field]: value },
      })

      const problem = body.errors.find((one: Shown) => one.path === `defaults.${path}`)
      expect(define({ run: () => 1, [field]: value })).toThrow(`${path} ${problem?.message}`)
    },
  )

  it('but an option that is undefined counts as left out', () => {
    expect(define({ run: () => 1, timeoutMs: undefined, retry: { maxRetries: undefined } })).not.toThrow()
  })
})

describe('a task whose definition has schemas of `previous` and `params`', () => {
  const montage = defineTask('montage', {
    previous: z.array(z.object({ bytes: z.number() })),
    params: z.object({ sku: z.string().transform(sku => sku.length) }).optional(),
    run: (_input, { previous, params }) => ({ sizes: previous.map(one => one.bytes), sku: params?.sku }),
  })
  const context = (more: object) => ({ ...inStage(), ...more }) as TaskContext

  it('gets both parsed', async () => {
    const result = await montage.run(undefined, context({ previous: [{ bytes: 1 }], params: { sku: 'abc' } }))

    expect(result).toEqual({ sizes: [1], sku: 3 })
  })

  it('fails for good when one does not fit, and the error names the field', async () => {
    const wrong = async () => montage.run(undefined, context({ previous: [{ bytes: '1' }] }))

    await expect(wrong).rejects.toThrow(Fatal)
    await expect(wrong).rejects.toThrow('previous does not fit montage: previous.0.bytes: ')
    await expect(async () => montage.run(undefined, context({}))).rejects.toThrow('previous: ')
  })
})
