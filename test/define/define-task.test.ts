import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { BatonError } from '../../shared/core/errors.ts'
import type { OutputOf } from '../../shared/define/any-definition.ts'
import { defineFlow } from '../../shared/define/define-flow.ts'
import { defineTask, type TaskDefinition } from '../../shared/define/define-task.ts'
import type { TaskContext } from '../../shared/define/task-context.ts'
import { Fatal, Next } from '../../shared/signals.ts'

const page = defineTask('page', {
  input: z.object({ url: z.string() }),
  timeoutMs: 1_000,
  stages: {
    fetch: ({ url }, ctx) => ctx.next('store', { input: { url: `${url}?fetched` }, priority: 2 }),
    store: async ({ url }, ctx) => (url === '' ? ctx.next('give-up') : { bytes: url.length }),
    'give-up': () => 'given up',
  },
})

/** As much of a context as stages look at. */
function inStage(stage?: string): TaskContext {
  const next: TaskContext['next'] = (to, options) => new Next(to, options)
  return { ...(stage !== undefined && { stage }), next } as TaskContext
}

// biome-ignore lint/suspicious/noExplicitAny: what no compiler has checked
const define = (definition: any) => () => defineTask('page', definition)

describe('a task with stages', () => {
  test('begins with its first one, and runs the one it is in', async () => {
    const first = await page.run({ url: 'a' }, inStage())
    const second = await page.run({ url: 'abc' }, inStage('store'))

    expect(first).toEqual(new Next('store', { input: { url: 'a?fetched' }, priority: 2 }))
    expect(second).toEqual({ bytes: 3 })
  })

  test('names its stages, and has the configuration of any other task', () => {
    expect(page.stages).toEqual(['fetch', 'store', 'give-up'])
    expect(page.config).toEqual({ kind: 'handler', defaults: { timeoutMs: 1_000 } })
  })

  test('says of its type, and not of its tasks, whether events are told', () => {
    const told = defineTask('page', { run: () => null, events: true })
    const flow = defineFlow('pages', { steps: [{ name: 'one', do: told }], events: true })

    expect(told.config).toEqual({ kind: 'handler', defaults: {}, events: true })
    expect(flow.config).toMatchObject({ defaults: {}, events: true })
  })

  test('that is in one it has not fails for good, naming those it has', () => {
    const run = () => page.run({ url: 'a' }, inStage('print'))

    expect(run).toThrow(Fatal)
    expect(run).toThrow("page has no stage 'print'; its stages are fetch, store, give-up")
    expect(() => page.run({ url: 'a' }, inStage('toString'))).toThrow(Fatal)
  })

  test('that moves to one it has not fails for good at once', () => {
    const lost = define({ stages: { only: (_input: unknown, ctx: TaskContext) => ctx.next('other') } })()

    expect(() => lost.run(undefined as never, inStage())).toThrow("page has no stage 'other'")
  })

  test('comes to what its stages return but to move it on', () => {
    expectTypeOf<OutputOf<typeof page>>().toEqualTypeOf<{ bytes: number } | string>()
    expectTypeOf(page).toExtend<TaskDefinition>()
  })
})

describe('a task is refused', () => {
  test.each([
    ['without a handler', {}, "give either 'run' or 'stages', one of them"],
    ['with one and stages', { run: () => 1, stages: { a: () => 1 } }, 'not both'],
    ['with no stages', { stages: {} }, "'stages' is empty"],
    ['with a stage of no name', { stages: { '': () => 1 } }, "'stages' has ''"],
    ['with a stage that is a number, which would come first', { stages: { b: () => 1, 1: () => 2 } }, "'1'"],
  ])('%s', (_why, definition, message) => {
    expect(define(definition)).toThrow(BatonError)
    expect(define(definition)).toThrow(message)
  })

  test.each(['', 'a b', 'x'.repeat(101), 'canvas'])("whose type is '%s'", type => {
    expect(() => defineTask(type, { run: () => 1 })).toThrow(`'${type}' is no task type`)
  })
})

test('A wrong stage does not compile', () => {
  const wrong = () => {
    defineTask('x', {
      stages: {
        // @ts-expect-error there is no such stage
        one: (_input, ctx) => ctx.next('three'),
        two: () => 1,
      },
    })
    defineTask('x', {
      input: z.object({ url: z.string() }),
      // @ts-expect-error a stage takes what the task takes
      stages: { one: (_input, ctx) => ctx.next('two', { input: { url: 1 } }), two: () => 1 },
    })
    // @ts-expect-error one of `run` and `stages`
    defineTask('x', { run: () => 1, stages: { one: () => 1 } })
  }

  expect(wrong).toBeTypeOf('function')
})
