import { expect, it } from 'vitest'
import type { Json } from '../../../../shared/core/values/values.ts'
import { putType } from '../../../../shared/runtime/types/types.ts'
import { schemaProblems } from '../../../../shared/service/requests/compare-inputs.ts'
import { anApi, expectRefused } from '../../../support/http/an-api.ts'

const SCHEMA = {
  type: 'object',
  properties: { url: { type: 'string' }, width: { type: 'integer', minimum: 1 } },
  required: ['url'],
  additionalProperties: false,
}
const GOOD = { url: 'a', width: 1 }
const BAD = { url: 'a', width: 0 }
const TYPE = { kind: 'http', inputSchema: SCHEMA }

/** An API with a type `image` whose inputs have a schema, and a type `sum` whose input is a list of two numbers. */
async function anApiWithSchemas(configuration: object = TYPE) {
  const api = await anApi()
  await api.call('PUT', '/v1/types/image', configuration)
  const list = { type: 'array', items: { type: 'number' }, minItems: 2 }
  await api.call('PUT', '/v1/types/sum', { kind: 'http', inputSchema: list })
  return api
}

const image = (input?: object) => ({ type: 'image', ...(input && { input }) })
const REFUSED: ReadonlyArray<
  readonly [what: string, method: string, path: string, body: object, at: string]
> = [
  ['a task', 'POST', '/v1/tasks', image(BAD), 'input.width'],
  ['a task without its input', 'POST', '/v1/tasks', image(), 'input.url'],
  ['an unknown field', 'POST', '/v1/tasks', image({ ...GOOD, wide: 1 }), 'input.wide'],
  ['a callback', 'POST', '/v1/tasks', { ...image(GOOD), onSuccess: [image(BAD)] }, 'onSuccess.0.input.width'],
  [
    'a member of a canvas',
    'POST',
    '/v1/canvases',
    { chain: [image(GOOD), image(BAD)] },
    'chain.1.input.width',
  ],
  ['a schedule', 'PUT', '/v1/schedules/s', { everyMs: 60_000, task: image(BAD) }, 'task.input.width'],
]

it.each(REFUSED)(
  '%s whose input does not fit the registered schema is refused, naming the field',
  async (...row) => {
    const [, method, path, body, at] = row
    const { call } = await anApiWithSchemas()

    await expectRefused(call(method, path, body), at, 400)
  },
)

it('A batch refuses the member that does not fit, and a patch a new input', async () => {
  const { call } = await anApiWithSchemas()

  const { body } = await call('POST', '/v1/tasks/batch', { tasks: [image(GOOD), image(BAD)] })
  const [{ id }, { problem }] = body.results

  expect(problem).toMatchObject({
    status: 400,
    errors: [{ path: 'tasks.1.input.width', message: 'must be at least 1, not 0' }],
  })
  await expectRefused(call('PATCH', `/v1/tasks/${id}`, { input: BAD }), 'input.width', 400)
  expect((await call('PATCH', `/v1/tasks/${id}`, { input: { url: 'b' } })).status).toBe(200)
})

it('A list that takes what is handed on is not compared before it is complete', async () => {
  const { call } = await anApiWithSchemas()
  const [first, next] = [
    { type: 'sum', input: [1, 2] },
    { type: 'sum', input: [3] },
  ]

  expect((await call('POST', '/v1/canvases', { chain: [first, next] })).status).toBe(201)
  expect((await call('POST', '/v1/tasks', { ...first, onSuccess: [next] })).status).toBe(201)
  await expectRefused(
    call('POST', '/v1/canvases', { chain: [first, { ...next, immutable: true }] }),
    'chain.1.input',
    400,
  )
})

it('The option checkInput switches the comparison off', async () => {
  const { call } = await anApiWithSchemas({ ...TYPE, checkInput: false })

  expect((await call('POST', '/v1/tasks', image(BAD))).status).toBe(201)
  expect((await call('GET', '/v1/types/image')).body).toMatchObject({
    checkInput: false,
    inputSchema: SCHEMA,
  })
})

it('A schema in the configuration of a type that an earlier version stored is shown and not compared', async () => {
  const { call, system } = await anApiWithSchemas()
  const stored = await system.types.get('image')
  const { schemaName: _name, ...configuration } = stored?.configuration ?? {}
  const old = { ...stored, configuration: { ...configuration, inputSchema: SCHEMA }, version: 2 }
  await system.types.put(old as never, 1)

  expect((await call('POST', '/v1/tasks', image(BAD))).status).toBe(201)
  const { body } = await call('GET', '/v1/types/image')
  expect(body).toMatchObject({ inputSchema: SCHEMA })
  expect(body).not.toHaveProperty('checkInput')
})

it('A process reads a schema once: a publish reads its type, as without a schema', async () => {
  const { system, call } = await anApi()
  const reads: string[] = []
  const noted = (name: string) => reads[reads.push(name) - 1] as string
  const counted = {
    ...system,
    types: { ...system.types, get: (type: string) => system.types.get(noted(type)) },
    records: { ...system.records, get: (name: string) => system.records.get(noted(name)) },
  }
  const api = await anApi(counted)
  await putType(system, 'image', { ...TYPE, kind: 'http', defaults: {} })
  await putType(system, 'plain', { kind: 'http', defaults: {} })
  const readsOf = async (body: object) => {
    reads.length = 0
    expect((await api.call('POST', '/v1/tasks', body)).status).toBe(201)
    return [...reads]
  }

  const [first, ...more] = [
    await readsOf(image(GOOD)),
    await readsOf(image(GOOD)),
    await readsOf({ type: 'plain' }),
  ]

  expect(first).toEqual(['image', expect.stringMatching(/^schema#/)])
  expect(more).toEqual([['image'], ['plain']])
  expect(JSON.stringify((await system.types.get('image'))?.configuration)).not.toContain('width')
  expect((await call('GET', '/v1/types')).body.items).toContainEqual(
    expect.objectContaining({ inputSchema: SCHEMA }),
  )
})

const CLOSED = { properties: { a: {} }, additionalProperties: false }
const tree = { type: 'object', properties: { next: { $ref: '#/$defs/tree' }, n: { type: 'number' } } }
it.each<[schema: object | boolean, input: Json, ...problems: string[]]>([
  [{ type: ['string', 'null'] }, 1, 'input must be text or null, not 1'],
  [{ type: 'string', minLength: 3 }, 'ab', "input must be text of at least 3 characters, not 'ab'"],
  [{ pattern: '^a' }, 'b', "input must be text that matches ^a, not 'b'"],
  [{ pattern: '(' }, 'b'],
  [{ format: 'email' }, 'b'],
  [{ enum: ['a', 1] }, 'b', `input must be one of "a", 1, not 'b'`],
  [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }],
  [{ exclusiveMinimum: 1 }, 1, 'input must be more than 1, not 1'],
  [{ exclusiveMinimum: true, minimum: 1 }, 1],
  [{ multipleOf: 2 }, 3, 'input must be a multiple of 2, not 3'],
  [{ multipleOf: 0.4 }, 1],
  [{ minLength: 2, maxLength: 1 }, '😀'],
  [{ pattern: '^a' }, 'b'.repeat(10_001)],
  [{ properties: { a: {} }, additionalProperties: false }, JSON.parse('{"__proto__": 1, "constructor": 2}')],
  [
    { required: Array.from({ length: 21 }, (_, nth) => `k${nth}`) },
    {},
    ...Array.from({ length: 20 }, (_, nth) => `input.k${nth} is required: a value`),
  ],
  [{ maxItems: 1 }, [1, 2], 'input must be a list of at most 1 items, not a list'],
  [{ prefixItems: [{}], minItems: 2 }, [1]],
  [{ required: ['toString'] }, {}, 'input.toString is required: a value'],
  [{ prefixItems: [{ type: 'null' }], items: false }, [null, 1], 'input.1 is not allowed here'],
  [{ properties: { a: { not: {} } } }, { a: 1 }, 'input.a must be left out, not 1'],
  [
    { patternProperties: { '^x': {} }, additionalProperties: false },
    { x1: 1, y: 1 },
  ],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, 'input must be text or null, not 1'],
  [
    {
      oneOf: [
        { properties: { k: { const: 'a' }, n: { minimum: 1 } } },
        { required: ['z'], properties: { k: { const: 'b' } } },
      ],
    },
    { k: 'a', n: 0 },
    'input.n must be at least 1, not 0',
  ],
  [
    {
      anyOf: [{ properties: { k: { const: 'a' } } }, { required: ['z'], properties: { k: { const: 'b' } } }],
    },
    { k: 'b' },
    'input.z is required: a value',
  ],
  [{ allOf: [{ minimum: 1 }, { maximum: 0 }] }, 2, 'input must be at most 0, not 2'],
  [
    { allOf: [{ properties: { a: {} }, additionalProperties: false }, { properties: { b: {} } }] },
    { a: 1, b: 2 },
  ],
  [
    { allOf: [{ $ref: '#/$defs/a' }, { properties: { b: {} } }], $defs: { a: CLOSED } },
    { a: 1, b: 2 },
  ],
  [{ allOf: [{ anyOf: [CLOSED, { type: 'null' }] }, { properties: { b: {} } }] }, { a: 1, b: 2 }],
  [
    { allOf: [{ properties: { c: CLOSED } }] },
    { c: { b: 1 } },
    "input.c.b is not a field here; did you mean 'a'? The fields are a",
  ],
  [
    { ...tree, $defs: { tree } },
    { next: { next: { n: 'x' } } },
    "input.next.next.n must be a number, not 'x'",
  ],
  [{ $ref: '#' }, 1],
  [{ $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } } }, 1],
  [{ $ref: 'https://example.com/schema' }, 1],
  [false, 1, 'input is not allowed here'],
  [{ type: 5, enum: 'x', required: 'x', properties: [], anyOf: {}, items: 7 }, { a: [1] }],
])('By the schema %j, %j is judged: %s', (schema, input, ...problems) => {
  expect(schemaProblems(schema, input, 'input').map(({ path, message }) => `${path} ${message}`)).toEqual(
    problems,
  )
})
