import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { chain, chord, group, type ResultOf } from '../../shared/define/canvases.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'

const resize = defineTask('resize', {
  input: z.object({ url: z.string() }),
  run: async ({ url }) => ({ bytes: url.length }),
})
const add = defineTask('add', { input: z.tuple([z.number(), z.number()]), run: ([a, b]) => a + b })
const montage = defineTask('montage', { run: () => 'montage' })
const order = defineFlow('order', {
  input: z.object({ sku: z.string() }),
  steps: [{ name: 'add', do: add, input: [1, 2] }],
})

describe('a signature', () => {
  it('is a publish body: a type, its input and options', () => {
    expect(resize.with({ url: 'a' }, { priority: 2, tags: { of: 'album' } })).toEqual({
      type: 'resize',
      input: { url: 'a' },
      priority: 2,
      tags: { of: 'album' },
    })
    expect(montage.with()).toEqual({ type: 'montage' })
    expect(order.with({ sku: 'a' })).toEqual({ type: 'order', input: { sku: 'a' } })
  })
})

describe('a canvas', () => {
  it('is data, as the API takes it', () => {
    const canvas = chain(
      resize.with({ url: 'a' }),
      group([add.with([1]), chord([add.with([1, 2])], montage, { onError: montage.with() })]),
    )

    expect(JSON.parse(JSON.stringify(canvas))).toEqual({
      chain: [
        { type: 'resize', input: { url: 'a' } },
        {
          group: [
            { type: 'add', input: [1] },
            {
              chord: {
                group: [{ type: 'add', input: [1, 2] }],
                then: { type: 'montage' },
                onError: { type: 'montage' },
              },
            },
          ],
        },
      ],
    })
  })

  it('takes its members as a list or as arguments', () => {
    expect(chain([montage, montage])).toEqual(chain(montage, montage))
  })

  it.each([
    ['chain', () => chain()],
    ['chain', () => chain([])],
    ['group', () => group([])],
    ["chord's group", () => chord([], montage)],
  ])('that is an empty %s is refused', (what, make) => {
    expect(make).toThrow(`a ${what} is empty; give at least one member`)
  })
})

it('a canvas has the type of its result', () => {
  const added = chain(montage, add.with([4]))
  const both = group([resize.with({ url: '' }), added, order.with({ sku: 'a' })])
  const many = group([1, 2].map(n => add.with([n, n])))
  const joined = chord([both, many], montage)

  expectTypeOf<ResultOf<typeof added>>().toEqualTypeOf<number>()
  expectTypeOf<ResultOf<typeof both>>().toEqualTypeOf<[{ bytes: number }, number, number]>()
  expectTypeOf<ResultOf<typeof many>>().toEqualTypeOf<number[]>()
  expectTypeOf<ResultOf<typeof joined>>().toEqualTypeOf<string>()
})

it('only arguments that earlier tasks hand on may be left out of an input', () => {
  const inputs = [add.with([]), add.with([1]), add.with([1, 2])].map(({ input }) => input)
  const wrong = () => {
    // @ts-expect-error the input has two elements
    add.with([1, 2, 3])
    // @ts-expect-error the elements are numbers
    add.with(['1'])
    // @ts-expect-error `resize` needs its input
    resize.with()
  }

  expect(inputs).toEqual([[], [1], [1, 2]])
  expect(wrong).toBeTypeOf('function')
})
