import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { firstValue, formOf, type JsonSchema } from '../../web/publish/schema.ts'

/** Forms that are made from schemas. */

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { io: 'input' }) as JsonSchema
const membersOf = (type: z.ZodType) => {
  const form = formOf(schemaOf(type))
  if (form?.kind !== 'object') throw new Error(`no form of an object, but ${form?.kind}`)
  return Object.fromEntries(form.members)
}

describe('a form', () => {
  it('has a field of the right kind for each member of the input', () => {
    const members = membersOf(
      z.object({
        url: z.url(),
        width: z.int().min(1).max(4_000),
        share: z.number().gt(0).optional(),
        isLoud: z.boolean(),
        format: z.enum(['png', 'jpeg']).default('png'),
        mode: z.union([z.literal('a'), z.literal(2)]),
        note: z.string().max(5_000).nullable(),
        tags: z.array(z.string()),
        size: z.object({ height: z.int() }).optional(),
        anything: z.unknown(),
        table: z.record(z.string(), z.number()),
      }),
    )

    expect(members).toMatchObject({
      url: { kind: 'text', type: 'url', isRequired: true },
      width: { kind: 'number', isWhole: true, min: 1, max: 4_000 },
      share: { kind: 'number', isWhole: false, min: 0, isRequired: false },
      isLoud: { kind: 'flag' },
      format: { kind: 'choice', choices: ['png', 'jpeg'], preset: 'png' },
      mode: { kind: 'choice', choices: ['a', 2] },
      note: { kind: 'text', isLong: true, isNullable: true },
      tags: { kind: 'list', item: { kind: 'text' } },
      size: { kind: 'object', isRequired: false },
      anything: { kind: 'json' },
      table: { kind: 'json' },
    })
  })

  it('lets a reader choose among several objects', () => {
    const form = formOf(
      schemaOf(z.union([z.object({ text: z.string() }), z.object({ kind: z.literal('url'), url: z.url() })])),
    )

    expect(form).toMatchObject({ kind: 'union', variants: [{ title: 'text' }, { title: 'url, url' }] })
  })

  it('shows titles and descriptions, and follows references', () => {
    const address = { type: 'object', properties: { street: { type: 'string' } }, title: 'Address' }
    const schema = {
      type: 'object',
      properties: { to: { $ref: '#/$defs/address', description: 'Where it goes' } },
      $defs: { address },
    }

    const form = formOf(schema)

    expect(form?.kind === 'object' && form.members[0]?.[1]).toMatchObject({
      title: 'Address',
      hint: 'Where it goes',
      kind: 'object',
    })
  })

  it('of a schema that refers to itself ends in a field for JSON', () => {
    const tree = { type: 'object', properties: { left: { $ref: '#' } } }

    expect(JSON.stringify(formOf(tree))).toContain('"kind":"json"')
  })

  it.each([
    ['no schema', undefined],
    ['an empty schema', {}],
    ['an object without members', { type: 'object' }],
    ['a union', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['a tuple', { type: 'array', prefixItems: [], items: {} }],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    ['nonsense', { type: 7, properties: 'x' }],
  ])('is not made of %s', (_, schema) => {
    expect(formOf(schema as JsonSchema | undefined)).toBeUndefined()
  })

  it('begins with what the schema presets', () => {
    const form = formOf(
      schemaOf(
        z.object({
          a: z.string(),
          b: z.int().default(3),
          c: z.boolean(),
          d: z.array(z.int()),
          e: z.literal('x'),
        }),
      ),
    )

    expect(form && firstValue(form)).toEqual({ b: 3, c: false, d: [], e: 'x' })
  })
})
