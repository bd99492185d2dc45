import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { API_PROBLEM_CODES } from '../../shared/api/problem-codes.ts'
import {
  CLAIM_WAIT_MS_MAX,
  DEFAULT_SHARDS,
  DELAY_MS_MAX,
  SCHEDULE_GRACE_MS,
} from '../../shared/core/bounds.ts'
import { DEFAULT_OPTIONS } from '../../shared/core/options.ts'

/** The document that the API serves, as its readers and generators see it. */

// biome-ignore lint/suspicious/noExplicitAny: tests read the document as its readers do, without types
type Part = any

const document: Part = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../functions/http/openapi.json'), 'utf8'),
)
const { schemas } = document.components
const operations: Part[] = Object.values(document.paths).flatMap((methods: Part) => Object.values(methods))

/** The component that a schema refers to, or the schema itself. */
const resolved = (schema: Part): Part => (schema.$ref ? schemas[schema.$ref.split('/').at(-1)] : schema)

type Field = {
  readonly at: string
  readonly name: string
  readonly schema: Part
  readonly isOptional: boolean
}

/** Every field of a schema, at any depth, without those of the components that it refers to. */
function fieldsIn(schema: Part, at: string): Field[] {
  if (typeof schema !== 'object' || schema === null) return []
  if (Array.isArray(schema)) return schema.flatMap(one => fieldsIn(one, at))
  const { properties = {}, required = [], ...rest } = schema
  const own = Object.entries<Part>(properties).flatMap(([name, field]) => [
    { at: `${at}.${name}`, name, schema: field, isOptional: !required.includes(name) },
    ...fieldsIn(field, `${at}.${name}`),
  ])
  return [...own, ...Object.values(rest).flatMap(part => fieldsIn(part, at))]
}

const components = Object.entries<Part>(schemas)
const fields = components.flatMap(([name, schema]) => fieldsIn(schema, name))
const parameters = operations.flatMap(({ operationId, parameters: all }) =>
  all.map((one: Part) => ({ at: `${operationId}?${one.name}`, ...one })),
)

/** The names of the components that requests consist of. */
function inRequests(): Set<string> {
  const names = new Set<string>()
  const visit = (part: Part): void => {
    if (typeof part !== 'object' || part === null) return
    const name = typeof part.$ref === 'string' ? part.$ref.split('/').at(-1) : undefined
    if (name !== undefined && !names.has(name)) {
      names.add(name)
      visit(schemas[name])
    }
    Object.values(part).forEach(visit)
  }
  for (const { requestBody } of operations) visit(requestBody)
  return names
}

describe('every field', () => {
  it('has a description', () => {
    const bare = fields.filter(({ schema }) => !schema.description && !resolved(schema).description)

    expect(fields.length).toBeGreaterThan(400)
    expect(bare.map(({ at }) => at).filter(at => !at.startsWith('Problem.type'))).toEqual([])
    expect(parameters.filter(({ description }) => !description)).toEqual([])
  })

  it('that is a duration says that it counts milliseconds', () => {
    const durations = fields.filter(({ name }) => /Ms$|^ms$/.test(name))

    expect(durations.length).toBeGreaterThan(40)
    expect(
      durations.filter(({ schema }) => !/millisecond/.test(schema.description)).map(({ at }) => at),
    ).toEqual([])
  })

  it('of a request that may be left out says what holds then', () => {
    const requests = inRequests()
    const open = fields.filter(({ at, isOptional }) => isOptional && requests.has(at.split('.')[0] ?? ''))
    const silent = open.filter(({ schema }) => !/Default: \S/.test(schema.description))

    expect(open.length).toBeGreaterThan(100)
    expect(silent.map(({ at }) => at)).toEqual([])
    expect(
      parameters.filter(one => !one.required && !/Default: \S/.test(one.description)).map(({ at }) => at),
    ).toEqual([])
  })

  it('that is a number or a list in a request has its bounds', () => {
    const requests = inRequests()
    const numbers = fields
      .filter(({ at }) => requests.has(at.split('.')[0] ?? ''))
      .filter(({ schema }) => ['integer', 'number'].includes(schema.type))

    expect(
      numbers.filter(({ schema }) => schema.minimum === undefined || schema.maximum === undefined),
    ).toEqual([])
    const { waitMs } = schemas.ClaimRequest.properties
    expect([waitMs.maximum, schemas.Publish.properties.delayMs.maximum]).toEqual([
      CLAIM_WAIT_MS_MAX,
      DELAY_MS_MAX,
    ])
  })
})

describe('the defaults in words', () => {
  const words = (at: string) => {
    const field = fields.find(one => one.at === at)
    return /Default: (?:the value of the type, else )?['`]?([\w,]+)/
      .exec(field?.schema.description)?.[1]
      ?.replaceAll(',', '')
  }

  it('are those of the code', () => {
    const { retry, workerIds: _any, ...options } = DEFAULT_OPTIONS
    for (const component of [
      'Publish',
      'Callback',
      'CanvasTask',
      'ScheduledTask',
      'TypeConfiguration.defaults',
    ]) {
      for (const [name, value] of Object.entries(options))
        expect(words(`${component}.${name}`)).toBe(String(value))
      for (const [name, value] of Object.entries(retry))
        expect(words(`${component}.retry.${name}`)).toBe(String(value))
    }
    expect(words('TypeConfiguration.shards')).toBe(String(DEFAULT_SHARDS))
    expect(words('ScheduleBody.graceMs')).toBe(String(SCHEDULE_GRACE_MS))
  })

  it('are not keywords, because a client that sends them would override what the type configures', () => {
    expect(fields.filter(({ schema }) => schema.default !== undefined)).toEqual([])
  })
})

describe('every operation', () => {
  it('has a tag, a summary of one line, and a description', () => {
    const tags = document.tags.map(({ name }: Part) => name)

    for (const { operationId, tags: own, summary, description } of operations) {
      expect({ operationId, isTagged: own.length === 1 && tags.includes(own[0]) }).toEqual({
        operationId,
        isTagged: true,
      })
      expect(summary).toMatch(/^[A-Z][^.\n]{4,60}$/)
      expect(description.length).toBeGreaterThan(9)
    }
  })

  it('lists the refusals of API Gateway and of the API, with their problems', () => {
    for (const { operationId, responses } of operations) {
      expect({ operationId, statuses: Object.keys(responses) }).toMatchObject({
        statuses: expect.arrayContaining(['400', '401', '403', '429', '500', '503']),
      })
    }
    const text = JSON.stringify(document)
    const unnamed = API_PROBLEM_CODES.filter(code => code !== 'method-not-allowed')
    expect(unnamed.filter(code => !text.includes(`urn:baton:problem:${code}`))).toEqual([])
  })

  it('that may be tried again later names the header Retry-After', () => {
    const { responses } = document.components

    for (const name of ['TooManyRequests', 'TooManyWaiting', 'Unavailable'])
      expect({ name, hasHeader: 'Retry-After' in (responses[name].headers ?? {}) }).toEqual({
        name,
        hasHeader: name !== 'TooManyRequests',
      })
  })

  it('that creates something names the header Location', () => {
    const creating = operations
      .filter(({ responses }) => responses['201'])
      .map(({ responses }) => responses['201'])

    expect(creating.length).toBe(4)
    expect(creating.filter(({ headers }) => !headers?.Location)).toEqual([])
  })
})

it('every component has a name that was given, and a description', () => {
  expect(components.filter(([name]) => name.startsWith('__'))).toEqual([])
  expect(components.filter(([, { description }]) => !description).map(([name]) => name)).toEqual([])
})

it('alternatives that a word tells apart have a discriminator', () => {
  expect(schemas.FinishMany.properties.runs.items.discriminator).toEqual({
    propertyName: 'outcome',
    mapping: {
      succeed: '#/components/schemas/RunSuccess',
      fail: '#/components/schemas/RunFailure',
      release: '#/components/schemas/RunRelease',
    },
  })
})

it('calls may be signed, carry a token, or, on the local system, neither', () => {
  expect(document.security).toEqual([{}, { SigV4: [] }, { Bearer: [] }])
  expect(document.components.securitySchemes).toMatchObject({
    SigV4: { type: 'apiKey', name: 'Authorization', 'x-amazon-apigateway-authtype': 'awsSigv4' },
    Bearer: { type: 'http', scheme: 'bearer' },
  })
})
