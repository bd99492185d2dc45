import { describe, expect, it } from 'vitest'
import {
  always,
  attributesOf,
  flag,
  flagFor,
  json,
  literal,
  mapOf,
  mapped,
  number,
  oneOf,
  optional,
  text,
  withDefault,
} from '../../../shared/aws/dynamo/attributes.ts'

type Visit = {
  readonly guest: string
  readonly room: 'blue' | 'red'
  readonly nights: number
  readonly isPaid: boolean
  readonly leftAt?: number
  readonly note?: string | null
  readonly guests: Readonly<Record<string, number>>
}

const VISIT = attributesOf<Visit>()({
  guest: always('by', text),
  room: withDefault('r', flagFor('red'), 'blue'),
  nights: withDefault('n', number, 1),
  isPaid: withDefault('paid', flag, false),
  leftAt: optional('end', number),
  note: optional('note', json<string | null>()),
  guests: mapped('with', mapOf<number, number>(number), { levels: 1, differingMax: 2 }),
})

const PLAIN: Visit = { guest: 'ann', room: 'blue', nights: 1, isPaid: false, guests: {} }
const FULL: Visit = {
  ...{ guest: '', room: 'red', nights: 0, isPaid: true, leftAt: 0, note: null },
  guests: { constructor: 1, ['__proto__']: 2 },
}

describe('a table of attributes', () => {
  it('leaves out what has its default, what is missing, and empty maps', () => {
    expect(VISIT.encode(PLAIN)).toEqual({ by: 'ann' })
    expect(VISIT.decode({ by: 'ann' })).toStrictEqual(PLAIN)
  })

  it('gives back every value, even one that counts as false', () => {
    const stored = VISIT.encode(FULL)

    expect(Object.keys(stored)).toEqual(['by', 'r', 'n', 'paid', 'end', 'note', 'with'])
    expect(stored).toMatchObject({ by: '', r: true, n: 0, end: 0, note: 'null' })
    expect(VISIT.decode(stored)).toStrictEqual(FULL)
  })

  it('writes and reads nothing but its rows', () => {
    const more = { ...PLAIN, colour: 'green' }

    expect(VISIT.encode(more)).toEqual({ by: 'ann' })
    expect(VISIT.decode({ by: 'ann', colour: 'green' } as never)).toStrictEqual(PLAIN)
  })

  it('reads a null as a missing attribute', () => {
    expect(VISIT.decode({ by: 'ann', n: null, end: null } as never)).toStrictEqual(PLAIN)
  })

  it.each([
    [{ by: 'ann' }, undefined],
    [{ by: 'ann', n: 'many' }, undefined],
    [{ n: 1 }, 'by'],
    [{ by: 7 }, 'by'],
  ])('of %j names what each record has and this one lacks: %s', (stored, odd) => {
    expect(VISIT.oddAttribute(stored)).toBe(odd)
    expect(VISIT.fits(stored)).toBe(odd === undefined)
  })

  it('knows which maps a change writes key by key', () => {
    expect(VISIT.paths).toEqual({ with: { levels: 1, differingMax: 2 } })
  })

  it('is checked by the compiler against its record', () => {
    type Pair = { readonly one: number; readonly two?: 'a' | 'b' }
    const pair = attributesOf<Pair>()
    const one = always('o', number)
    const two = optional('t', literal<'a' | 'b'>())

    // @ts-expect-error A member has no row.
    pair({ one })
    // @ts-expect-error A member that each record has is optional.
    pair({ one: optional('o', number), two })
    // @ts-expect-error A member that some records have is in each.
    pair({ one, two: always('t', literal<'a' | 'b'>()) })
    // @ts-expect-error The codec takes other values.
    pair({ one: always('o', text), two })
    // @ts-expect-error The codec gives back values that the member does not know.
    pair({ one, two: optional('t', text) })
    // @ts-expect-error The record has no such member.
    pair({ one, two, three: optional('x', number) })
    const stored: { readonly o: number; readonly t?: 'a' | 'b' } = pair({ one, two }).encode({ one: 1 })
    // @ts-expect-error The stored form lacks an attribute that each item has.
    pair({ one, two }).decode({ t: 'a' })

    expect(stored).toEqual({ o: 1 })
  })
})

describe('alternatives', () => {
  type Shape =
    | { readonly kind: 'circle'; readonly radius: number }
    | { readonly kind: 'square'; readonly side: number; readonly colour?: string }
  const shape = oneOf<Shape>()({
    circle: attributesOf<{ readonly radius: number }>()({ radius: always('r', number) }),
    square: attributesOf<{ readonly side: number; readonly colour?: string }>()({
      side: always('s', number),
      colour: optional('c', text),
    }),
  })

  it.each<[Shape, object]>([
    [{ kind: 'circle', radius: 1 }, { r: 1 }],
    [
      { kind: 'square', side: 2, colour: 'red' },
      { s: 2, c: 'red' },
    ],
  ])('are recognised by the form of %j', (value, stored) => {
    expect(shape.encode(value)).toEqual(stored)
    expect(shape.decode(stored as never)).toStrictEqual(value)
  })

  it('are read as the last one where no form fits', () => {
    expect(shape.decode({ c: 'red' } as never)).toEqual({ kind: 'square', colour: 'red' })
  })
})
