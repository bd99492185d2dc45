/** Results as handlers give them in the world outside: with dates, without a value, at the bounds, or nothing that JSON can hold. */

export type OddResult = {
  /** The result. A new one for each run. */
  readonly given: () => unknown
  /** What is stored of it, as JSON. @default nothing, since the handler gives none */
  readonly stored?: unknown
  /** A part of the error with which the task fails for good, because the result cannot be stored. */
  readonly says?: string
}

const RESULT_BYTES_MAX = 350 * 1_024
const LEVELS_MAX = 200
const LONGEST = 'r'.repeat(RESULT_BYTES_MAX - 2)

class Invoice {
  readonly id = 7
  readonly self = this
}

export const ODD_RESULTS = {
  nothing: { given: () => undefined },
  null: stored(null),
  false: stored(false),
  zero: stored(0),
  'an empty text': stored(''),
  'an empty list': stored([]),
  'half a character': stored('\ud83d'),
  'a date': { given: () => new Date(0), stored: '1970-01-01T00:00:00.000Z' },
  'a date in a list': { given: () => ({ at: [new Date(0)] }), stored: { at: ['1970-01-01T00:00:00.000Z'] } },
  'a member that is undefined': { given: () => ({ a: undefined, b: [{ c: 1 }] }), stored: { b: [{ c: 1 }] } },
  'one object at two places': {
    given: () => {
      const address = { city: 'Ulm' }
      return { home: address, work: [address, address] }
    },
    stored: { home: { city: 'Ulm' }, work: [{ city: 'Ulm' }, { city: 'Ulm' }] },
  },
  'as many levels as are legal': stored(nested(LEVELS_MAX)),
  'one level more': { given: () => nested(LEVELS_MAX + 1), says: 'nests deeper than 200 levels' },
  'as many bytes as are legal': stored(LONGEST),
  'one byte more': { given: () => `${LONGEST}r`, says: `${RESULT_BYTES_MAX + 1} bytes` },
  'no number': { given: () => ({ sum: [1, Number.NaN] }), says: 'sum.1 is NaN' },
  infinity: { given: () => Number.POSITIVE_INFINITY, says: 'is Infinity' },
  'a bigint': { given: () => ({ sum: 7n }), says: 'sum is bigint' },
  'a function': { given: () => [() => 7], says: '0 is function' },
  'undefined in a list': { given: () => [1, undefined], says: '1 is undefined' },
  'a map': { given: () => ({ by: new Map([['a', 1]]) }), says: 'by is a class instance' },
  'an instance that refers to itself': {
    given: () => ({ of: new Invoice() }),
    says: 'of is a class instance',
  },
  'a circle of objects': {
    given: () => {
      const parent: Record<string, unknown> = { name: 'parent' }
      parent.child = { name: 'child', parent }
      return parent
    },
    says: 'circular at child.parent',
  },
  'a circle through a list': {
    given: () => {
      const list: unknown[] = []
      list.push({ in: { list } })
      return { list }
    },
    says: 'circular at list.0.in.list',
  },
} as const satisfies Readonly<Record<string, OddResult>>

export type OddResultName = keyof typeof ODD_RESULTS

export function oddResult(name: OddResultName): OddResult {
  return ODD_RESULTS[name]
}

function stored(value: unknown): OddResult {
  return { given: () => value, stored: value }
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
