import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { BatonError } from '../../../shared/core/values/values.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { Flow, InputOf, OutputOf } from '../../../shared/define/definitions.ts'
import { defineFlow } from '../../../shared/define/flow/define-flow.ts'

const reserve = defineTask('reserve', {
  input: z.object({ sku: z.string() }),
  run: () => ({ id: 'r1', at: new Date(0) }),
})
const free = defineTask('free', {
  input: z.object({ reserve: z.object({ id: z.string() }).optional() }),
  run: () => undefined,
})
const cancel = defineTask('cancel', { input: z.object({ charge: z.number() }), run: () => undefined })
const charge = defineTask('charge', {
  input: z.object({ cents: z.int(), reserve: z.object({ id: z.string(), at: z.string() }) }),
  run: () => 5,
})
const ship = defineTask('ship', {
  input: z.object({ ids: z.array(z.string()) }),
  run: () => ({ parcel: 'p' }),
})
const notify = defineTask('notify', { run: () => 'told' })
const paged = defineTask('paged', { stages: { one: (_input, ctx) => ctx.next('two'), two: () => 1 } })

const input = z.object({ sku: z.string(), cents: z.int() })

const order = defineFlow('order', {
  input,
  onCancel: 'leave',
  deadlineMs: 60_000,
  priority: 3,
  steps: [
    { name: 'reserve', do: reserve, undo: free, timeoutMs: 300_000 },
    { name: 'charge', do: charge, undo: { task: free, retry: { maxRetries: 9 } }, retry: { maxRetries: 3 } },
    { name: 'tell', do: 'mailer', undo: { task: 'mailer', input: { text: 'never mind' } } },
    { name: 'ship', do: { task: ship, input: { ids: ['a'] }, deadlineMs: 1_000 } },
  ],
})

describe('a flow', () => {
  it('is a type with its steps, as the API takes it', () => {
    expect(order).toMatchObject({ kind: 'baton-flow', type: 'order', input })
    expect(order.config).toEqual({
      kind: 'flow',
      defaults: { deadlineMs: 60_000, priority: 3 },
      onCancel: 'leave',
      steps: [
        { name: 'reserve', do: { type: 'reserve', timeoutMs: 300_000 }, undo: { type: 'free' } },
        {
          name: 'charge',
          do: { type: 'charge', retry: { maxRetries: 3 } },
          undo: { type: 'free', retry: { maxRetries: 9 } },
        },
        {
          name: 'tell',
          do: { type: 'mailer' },
          undo: { type: 'mailer', input: { text: 'never mind' } },
        },
        { name: 'ship', do: { type: 'ship', input: { ids: ['a'] }, deadlineMs: 1_000 } },
      ],
    })
  })

  it('has the definitions of its steps, each once', () => {
    expect(order.tasks).toEqual([reserve, free, charge, ship])
  })

  it('has the input type of its schema, and the result type of its last step', () => {
    expectTypeOf<InputOf<typeof order>>().toEqualTypeOf<{ sku: string; cents: number }>()
    expectTypeOf<OutputOf<typeof order>>().toEqualTypeOf<{ parcel: string }>()
    expectTypeOf(order).toExtend<Flow>()
  })
})

// biome-ignore lint/suspicious/noExplicitAny: the compiler must not check the value
const define = (steps: any) => () => defineFlow('order', { steps })

it('a field that a flow cannot have is refused, with the nearest name of a legal one', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the compiler must not check the value
  const flow = (settings: any) => () =>
    defineFlow('order', { steps: [{ name: 'a', do: notify }], ...settings })

  expect(flow({ deadlineMs: 0 })).toThrow("flow 'order': deadlineMs must be a whole number of milliseconds")
  expect(flow({ onCancel: 'leaves' })).toThrow(
    "onCancel must be one of undo, leave, not 'leaves'; did you mean 'leave'?",
  )
  expect(flow({ timeoutMs: 5 })).toThrow('timeoutMs is for the steps of a flow')
  expect(flow({ deadline: 5 })).toThrow("deadline is not a field here; did you mean 'deadlineMs'?")
})

describe('a flow is refused', () => {
  const step = { name: 'a', do: notify }
  const twin = defineTask('notify', { run: () => 2 })

  it.each<[string, unknown, string]>([
    ['without steps', [], 'steps must be a list of 1–100 members, not of 0'],
    [
      'with 101 steps',
      Array.from({ length: 101 }, (_, n) => ({ ...step, name: `${n}` })),
      'steps must be a list of 1–100 members, not of 101',
    ],
    ['with two steps of one name', [step, step], "steps.1.name must be unique among the steps; 'a' is taken"],
    [
      'with a step named like an undo',
      [step, { ...step, name: 'undo a' }],
      "steps.1.name must not be 'undo a': that is the name of the undo of step 'a'",
    ],
    ['with a step without a name', [{ ...step, name: '' }], 'steps.0.name must be text of 1–100 characters'],
    [
      'with a step of a long name',
      [{ ...step, name: 'x'.repeat(101) }],
      'steps.0.name must be text of 1–100',
    ],
    ['with a step named __proto__', [{ ...step, name: '__proto__' }], 'steps.0.name'],
    [
      'with a bad retry next to `do`',
      [{ ...step, retry: { maxRetries: -1 } }],
      "flow 'order': steps.0.retry.maxRetries must be a whole number from 0 to 1000, not -1",
    ],
    [
      'with a bad timeout of an undo',
      [{ ...step, undo: { task: notify, timeoutMs: 0.5 } }],
      'steps.0.undo.timeoutMs must be a whole number of milliseconds from 1',
    ],
    [
      'with a step of a type whose name is not legal',
      [{ ...step, do: 'a b' }],
      "steps.0.do must be 1–100 of A–Z a–z 0–9 . _ -, not 'a b'",
    ],
    ['with a step without a task', [{ name: 'a' }], 'steps.0.do must be a task definition'],
    ['with a step whose task is a flow', [{ name: 'a', do: order }], "steps.0.do is the flow 'order'"],
    ['with an undo that is a flow', [{ ...step, undo: { task: order } }], 'steps.0.undo.task is the flow'],
    ['with a step whose task has several stages', [{ name: 'a', do: paged }], "'paged', which has stages"],
    [
      'with an input that is not JSON',
      [{ ...step, input: { at: new Date() } }],
      'steps.0.input.at is a class instance',
    ],
    [
      'with a setting in two places',
      [{ name: 'a', timeoutMs: 1, do: { task: notify, timeoutMs: 2 } }],
      "steps.0.timeoutMs is given next to 'do' and within it",
    ],
    [
      'with two definitions of one type',
      [{ ...step, undo: twin }],
      "two definitions of the type 'notify'; give each type once",
    ],
  ])('%s', (_why, steps, message) => {
    expect(define(steps)).toThrow(BatonError)
    expect(define(steps)).toThrow(message)
  })

  it('with a problem for each field that is wrong', () => {
    let problems: unknown
    try {
      define([{ name: '' }])()
    } catch (error) {
      problems = error instanceof BatonError && error.problems
    }

    expect(problems).toMatchObject([{ path: 'steps.0.name' }, { path: 'steps.0.do' }])
  })
})

it('a step whose parameters no earlier step gives does not compile', () => {
  const wrong = () => {
    // @ts-expect-error `charge` needs the result of a step `reserve`
    defineFlow('x', { input, steps: [{ name: 'charge', do: charge }] })
    // @ts-expect-error a failed step is undone as well, and has no result
    defineFlow('x', { input, steps: [{ name: 'charge', do: notify, undo: cancel }] })
  }

  expect(wrong).toBeTypeOf('function')
})

it('a flow without a schema accepts any input', () => {
  const loose = defineFlow('loose', { steps: [{ name: 'charge', do: charge }] })

  expectTypeOf<OutputOf<typeof loose>>().toEqualTypeOf<number>()
  expect(loose).not.toHaveProperty('input')
})
