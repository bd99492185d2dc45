import { toStandardJsonSchema } from '@valibot/to-json-schema'
import * as fc from 'fast-check'
import * as v from 'valibot'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { type InputSchema, withInputSchema } from '../../../infra/types/input-schema.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { schemaProblems } from '../../../shared/service/requests/compare-inputs.ts'

/** Values that lie at the bounds of the schemas below, and texts that libraries change before they compare them. */
const SCALARS = [
  ...[null, true, false, 0, 1, 2, 3, -1, 0.1, 0.3, 1.5, 4, 1e300, 2 ** 53],
  ...[
    '',
    'a',
    'A',
    'ab',
    'AB',
    'abc',
    'abcdef',
    '  a   ',
    '😀',
    '😀😀',
    'é',
    'ﬃ',
    '1',
    '0.3',
    'true',
    'b\nc',
  ],
  ...['https://a.b', '  https://a.b   ', 'ada@example.com', 'YWJj', '2026-01-31', 'B1', 'b1', 'x@b'],
]
const NAMES = ['a', 'b', 'c', '1', '__proto__', 'constructor']
const { value: values } = fc.letrec<{ value: Json; list: Json[]; object: Record<string, Json> }>(tie => ({
  value: fc.oneof({ maxDepth: 4 }, fc.constantFrom<Json[]>(...SCALARS), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc
    .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 4 })
    .map(members => JSON.parse(`{${members.map(([name, one]) => `"${name}":${JSON.stringify(one)}`)}}`)),
}))

const bound = fc.constantFrom(0, 1, 2, 3)
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 })

const zodScalars: ReadonlyArray<(n: number) => z.ZodType> = [
  n => z.string().min(n),
  n => z.string().max(n),
  n => z.string().trim().max(n).min(1),
  n => z.string().normalize('NFKC').min(n),
  n => z.string().toLowerCase().startsWith('a').max(n),
  n =>
    z
      .string()
      .min(n)
      .refine(text => text !== 'ab'),
  n =>
    z
      .string()
      .check(payload => {
        payload.value = payload.value.trim()
      })
      .max(n),
  () => z.string().regex(/^[a-z]\d?$/i),
  () => z.string().regex(/^..$/),
  () => z.string().regex(/^.$/u),
  () => z.string().regex(/^c$/m),
  () => z.string().regex(/^b.c$/s),
  n => z.url().max(n + 11),
  () => z.email(),
  () => z.email({ pattern: /^X@/i }),
  () => z.base64(),
  () => z.iso.date(),
  () => z.emoji(),
  () => z.templateLiteral(['b', z.number()]),
  n => z.number().min(n),
  n => z.number().gt(n).lt(4),
  n => z.int().max(n),
  () => z.number().multipleOf(0.1),
  n => z.number().multipleOf(n + 1),
  n => z.number().overwrite(Math.round).int().max(n),
  n => z.coerce.number().min(n),
  () => z.coerce.boolean(),
  () => z.coerce.date(),
  () => z.stringbool(),
  () => z.date(),
  () => z.bigint(),
  () => z.custom(value => value === 1),
  () => z.instanceof(Date),
  () => z.undefined(),
  () => z.never(),
  () => z.any(),
  () => z.unknown(),
  () => z.null(),
  () => z.literal(['a', 1, true, null]),
  () => z.enum(['a', 'ab']),
  () => z.enum({ One: 1, Two: 'a' }),
  n => z.preprocess(value => (typeof value === 'string' ? Number(value) : value), z.number().min(n)),
  n => z.preprocess(value => value ?? 1, z.number().min(n)),
  n => z.string().transform(Number).pipe(z.number().min(n)),
  n => z.codec(z.string().min(n), z.number(), { decode: Number, encode: String }),
  n => z.string().max(n).catch('x'),
  n =>
    z
      .string()
      .min(n)
      .catch(() => 'x'),
  n => z.string().max(n).default('x'),
  n => z.string().min(n).prefault('x'),
]

const { schema: zodSchemas } = fc.letrec<{ schema: z.ZodType; shape: Record<string, z.ZodType> }>(tie => ({
  shape: fc
    .tuple(names, fc.array(tie('schema'), { minLength: 3, maxLength: 3 }))
    .map(([chosen, parts]) => Object.fromEntries(chosen.map((name, nth) => [name, parts[nth] as z.ZodType]))),
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.tuple(fc.constantFrom(...zodScalars), bound).map(([make, n]) => make(n)),
    tie('shape').map(shape => z.object(shape)),
    tie('shape').map(shape => z.object(shape).partial()),
    tie('shape').map(shape => z.strictObject(shape)),
    fc.tuple(tie('shape'), tie('schema')).map(([shape, rest]) => z.object(shape).catchall(rest)),
    fc.tuple(tie('shape'), tie('shape')).map(([a, b]) => z.strictObject(a).and(z.strictObject(b))),
    fc.tuple(tie('shape'), tie('shape')).map(([a, b]) => z.object(a).and(z.object(b))),
    fc.tuple(tie('shape'), tie('shape')).map(([a, b]) => z.strictObject(a).nullable().and(z.strictObject(b))),
    fc
      .tuple(tie('shape'), tie('shape'))
      .map(([a, b]) =>
        z.discriminatedUnion('c', [
          z.object({ ...a, c: z.literal('a') }),
          z.object({ ...b, c: z.enum(['b', 'ab']).default('b') }),
        ]),
      ),
    tie('schema').map(one => z.record(z.string().min(1), one)),
    tie('schema').map(one => z.record(z.enum(['a', 'b']), one)),
    tie('schema').map(one => z.record(z.coerce.number(), one)),
    tie('schema').map(one => z.looseRecord(z.string().regex(/^[a-z]$/i), one)),
    fc.tuple(tie('schema'), bound).map(([one, n]) => z.array(one).min(n)),
    fc.tuple(tie('schema'), bound).map(([one, n]) =>
      z
        .array(one)
        .overwrite(list => list.slice(0, n))
        .max(n),
    ),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.tuple([a, b.optional()])),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.tuple([a], b)),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.union([a, b])),
    fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => z.xor([a, b])),
    tie('schema').map(one => one.optional()),
    tie('schema').map(one => one.nullable()),
    tie('schema').map(one => one.nullish().readonly()),
    tie('schema').map(one => one.default(() => 'x' as never)),
    tie('schema').map(one => one.transform(value => [value])),
    tie('schema').map(one => z.success(one)),
    tie('schema').map(one =>
      z.lazy(() =>
        z.object({
          a: one.optional(),
          get b() {
            return z.unknown().optional()
          },
        }),
      ),
    ),
    tie('schema').map(one => {
      const tree: z.ZodType = z.object({
        a: one,
        get b() {
          return z.array(tree).optional()
        },
      })
      return tree
    }),
  ),
}))

/** Each makes a schema of the parts that it is given. */
const valibotScalars: ReadonlyArray<(n: number) => v.GenericSchema> = [
  n => v.pipe(v.string(), v.minLength(n)),
  n => v.pipe(v.string(), v.maxLength(n)),
  n => v.pipe(v.string(), v.trim(), v.maxLength(n)),
  n => v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(n)),
  () => v.pipe(v.string(), v.regex(/^..$/)),
  () => v.pipe(v.string(), v.regex(/^a$/i)),
  () => v.pipe(v.string(), v.hexadecimal()),
  () => v.pipe(v.string(), v.email()),
  () => v.pipe(v.string(), v.isoDate()),
  n => v.pipe(v.number(), v.minValue(n), v.integer()),
  n => v.pipe(v.number(), v.ltValue(n)),
  () => v.pipe(v.number(), v.multipleOf(0.1)),
  n => v.fallback(v.pipe(v.string(), v.minLength(n)), 'x'),
  () => v.fallback(v.number(), 1),
  () => v.date(),
  () => v.picklist(['a', 'ab']),
  () => v.literal(1),
  () => v.any(),
  () => v.never(),
]

const { schema: valibotSchemas } = fc.letrec<{ schema: v.GenericSchema; shape: v.ObjectEntries }>(tie => ({
  shape: fc
    .tuple(names, fc.array(tie('schema'), { minLength: 3, maxLength: 3 }))
    .map(
      ([chosen, parts]) =>
        Object.fromEntries(chosen.map((name, nth) => [name, parts[nth]])) as v.ObjectEntries,
    ),
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.tuple(fc.constantFrom(...valibotScalars), bound).map(([make, n]) => make(n)),
    tie('shape').map(shape => v.object(shape)),
    fc.tuple(tie('shape'), bound).map(([shape, n]) => v.pipe(v.object(shape), v.maxEntries(n))),
    tie('shape').map(shape => v.strictObject(shape)),
    fc.tuple(tie('shape'), tie('schema')).map(([shape, rest]) => v.objectWithRest(shape, rest)),
    fc.tuple(tie('shape'), tie('shape')).map(([a, b]) => v.intersect([v.object(a), v.strictObject(b)])),
    fc
      .tuple(tie('shape'), tie('shape'))
      .map(([a, b]) =>
        v.variant('c', [
          v.object({ ...a, c: v.literal('a') }),
          v.object({ ...b, c: v.optional(v.string(), 'b') }),
        ]),
      ),
    tie('schema').map(one => v.record(v.pipe(v.string(), v.minLength(1)), one)),
    fc.tuple(tie('schema'), bound).map(([one, n]) => v.pipe(v.array(one), v.maxLength(n))),
    fc.tuple(tie('schema'), bound).map(([one, n]) => v.pipe(v.tuple([one, v.optional(one)]), v.length(n))),
    tie('schema').map(one => v.strictTuple([one, v.undefinedable(one)])),
    fc.tuple(tie('schema'), tie('schema')).map(parts => v.union(parts)),
    tie('schema').map(one => v.optional(one)),
    tie('schema').map(one => v.nullish(one)),
    tie('schema').map(one =>
      v.lazy(() => v.object({ a: v.fallback(v.pipe(v.string(), v.minLength(2)), 'x'), b: one })),
    ),
    tie('schema').map(one => {
      const tree: v.GenericSchema = v.object({ a: one, b: v.optional(v.array(v.lazy(() => tree))) })
      return tree
    }),
  ),
}))

type Definition = { readonly '~standard': { validate(value: unknown): unknown } }

/** How a definition and the check on arrival judge a value. */
async function judged(definition: Definition, given: Json | undefined) {
  const { inputSchema } = withInputSchema({ kind: 'handler', defaults: {} }, definition as InputSchema)
  const input = given === undefined ? undefined : (JSON.parse(JSON.stringify(given)) as Json)
  const parsed = await Promise.resolve(definition['~standard'].validate(input)).catch(() => ({ issues: [] }))
  const problems = inputSchema ? schemaProblems(inputSchema, input, 'input') : []
  return { accepts: !(parsed as { issues?: unknown }).issues, problems, inputSchema }
}

const RUNS = { numRuns: Number(process.env.RUNS ?? 200) }

/** Fails when the definition accepts an input that is refused on arrival. */
async function expectNoStricter(definition: Definition, inputs: Iterable<Json | undefined>) {
  for (const input of inputs) {
    const { accepts, problems, inputSchema } = await judged(definition, input)
    if (accepts && problems.length > 0) expect.fail(JSON.stringify({ input, problems, inputSchema }))
  }
}

const manyInputs = fc.array(fc.option(values, { nil: undefined, freq: 20 }), { minLength: 20, maxLength: 20 })

it('A scalar input that a definition of zod accepts is accepted on arrival', async () => {
  for (const make of zodScalars)
    for (const n of [0, 1, 2, 3]) {
      await expectNoStricter(make(n), [undefined, ...SCALARS])
      await expectNoStricter(z.object({ a: make(n) }), [{}, ...SCALARS.map(a => ({ a }))])
    }
})

it('An input that a definition of zod accepts is accepted on arrival', () =>
  fc.assert(fc.asyncProperty(zodSchemas, manyInputs, expectNoStricter), RUNS))

it('An input that a definition of valibot accepts is accepted on arrival', () =>
  fc.assert(
    fc.asyncProperty(valibotSchemas, manyInputs, (schema, inputs) =>
      expectNoStricter(toStandardJsonSchema(schema as never), inputs),
    ),
    RUNS,
  ))

it('A scalar input that a definition of valibot accepts is accepted on arrival', async () => {
  for (const make of valibotScalars)
    for (const n of [0, 1, 2, 3]) {
      await expectNoStricter(toStandardJsonSchema(make(n) as never), [undefined, ...SCALARS])
    }
})
