import fc from 'fast-check'
import type { Contract, Part } from './contract.ts'

/** Values for a schema of the document. Most are legal, some break one of its words, and some are hostile. */

/** The types that a conversation registers, and one that it does not. */
export const TYPES = ['jobs', 'resize', 'order', 'call', 'unknown'] as const

const DEPTH_MAX = 4

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    -1,
    1.5,
    true,
    [],
    {},
    'a'.repeat(5_000),
    // In a query it is longer than the local system takes.
    'a'.repeat(20_000),
    '\u0000',
    '\ud800',
    '__proto__',
    1e300,
  ),
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

export function valuesFor(contract: Contract, schema: Part): fc.Arbitrary<unknown> {
  // A component may contain itself, so it is resolved only when a value is drawn.
  const draw: Draw = (part, depth) =>
    part.$ref
      ? fc.constant(part).chain(reference => legal(contract.resolved(reference), depth, draw))
      : legal(part, depth, draw)
  return fc.oneof({ weight: 30, arbitrary: draw(schema, 0) }, { weight: 1, arbitrary: hostile })
}

type Draw = (part: Part, depth: number) => fc.Arbitrary<unknown>

function legal(schema: Part, depth: number, draw: Draw): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives && depth > DEPTH_MAX) return draw(alternatives[0], depth)
  if (alternatives) return fc.oneof(...alternatives.map((one: Part) => draw(one, depth)))
  return (BY_TYPE[schema.type] ?? anyJson)(schema, depth, draw)
}

type Values = (schema: Part, depth: number, draw: Draw) => fc.Arbitrary<unknown>

const anyJson: Values = () => fc.jsonValue({ maxDepth: 2 })

const BY_TYPE: Readonly<Record<string, Values>> = {
  object: objectFor,
  array: ({ items, minItems = 0, maxItems = 3 }, depth, draw) =>
    fc.array(member(items, depth, draw), {
      minLength: minItems,
      maxLength: depth > DEPTH_MAX ? minItems : Math.max(minItems, Math.min(maxItems, 3)),
    }),
  integer: ({ minimum = -5, maximum = 10_000 }) => wholeNumbers(minimum, maximum),
  number: ({ minimum = 0, maximum = 1 }) => fc.double({ min: minimum, max: maximum, noNaN: true }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  string: textFor,
}

function member(part: Part, depth: number, draw: Draw): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: draw(part, depth + 1) }, { weight: 1, arbitrary: hostile })
}

function objectFor(
  { properties = {}, required = [], additionalProperties }: Part,
  depth: number,
  draw: Draw,
): fc.Arbitrary<unknown> {
  if (typeof additionalProperties === 'object') {
    const name = fc.string({ minLength: 1, maxLength: 8 })
    return fc.dictionary(name, draw(additionalProperties, depth + 1), { maxKeys: 3 })
  }
  const names = Object.keys(properties).filter(name => depth <= DEPTH_MAX || required.includes(name))
  const fields = names.map(name => {
    const value = member(properties[name], depth, draw)
    return required.includes(name)
      ? value
      : fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
  })
  return fc.tuple(...fields).map(values => {
    const given = names.map((name, index) => [name, values[index]] as const)
    return Object.fromEntries(given.filter(([, value]) => value !== undefined))
  })
}

/** The bounds, small numbers, and any number between the bounds. */
function wholeNumbers(min: number, max: number): fc.Arbitrary<number> {
  const near = fc.integer({ min: 0, max: 20 }).map(more => Math.min(max, min + more))
  return fc.oneof(
    near,
    near,
    fc.constantFrom(min, max),
    fc.integer({ min: Math.max(min, -(2 ** 31)), max: Math.min(max, 2 ** 31 - 1) }),
  )
}

function textFor({ format, pattern, minLength = 0, maxLength = 30 }: Part): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc.constantFrom(
      '2020-01-01T00:00:00Z',
      '2026-11-23T12:00:00.5+02:00',
      '2030-02-28T23:59:59.999Z',
      '2026-02-30T00:00:00Z',
    )
  if (format === 'uri') return fc.constantFrom('https://example.com/hook', 'http://127.0.0.1:9/hook')
  if (pattern?.includes('A-Za-z0-9._-')) return fc.constantFrom(...TYPES)
  if (pattern) return fc.constantFrom('1', '1.4.0', '2.1', 'x')
  const plain = fc.constantFrom('a', 'b', 'key-1', 'x:y', 'name with spaces', 'ä/ö?', '~e')
  const any = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) })
  return fc.oneof({ weight: 5, arbitrary: plain }, { weight: 1, arbitrary: any })
}
