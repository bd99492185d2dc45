import * as z from 'zod'
import { problemAnswer } from '../../shared/api/problems.ts'
import type { Route } from './route.ts'

type Schema = Record<string, unknown>

const PROBLEM_TITLES: Readonly<Record<number, string>> = {
  400: 'The request is not valid; `errors` names each field',
  404: 'The named task, run, type, canvas or schedule does not exist',
  409: 'The present state does not allow it',
  413: 'The body, an input, a result or a progress is too large',
  415: 'The body is not JSON',
  429: 'Too many claims wait; try again after `retryAfterMs`',
  500: 'An unexpected error; the log describes it under `requestId`',
  501: 'Not available where this API runs; `detail` says what to use instead',
  503: 'The storage does not answer; try again after `Retry-After` seconds',
}

/** Describes the routes in OpenAPI 3.1, from the same data that serves and checks them. */
export function openApiOf(routes: readonly Route[]): Schema {
  const components: Record<string, unknown> = {}
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output') => {
    const { $schema: _dialect, $defs = {}, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
    for (const [name, definition] of Object.entries($defs))
      components[name] = withOpenApiReferences(definition)
    return withOpenApiReferences(own)
  }
  schemaOf(z.object({ problemAnswer }), 'output')
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route, schemaOf) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Baton',
      version: '1',
      description: 'Tasks that are published, claimed, run and finished',
    },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: components },
  }
}

/** Changes references to definitions: OpenAPI keeps definitions in another place than JSON Schema. */
function withOpenApiReferences(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

type SchemaOf = (schema: z.ZodType, io: 'input' | 'output') => unknown

function operationOf(route: Route, schemaOf: SchemaOf): Schema {
  const body = route.body ?? route.documentedBody
  return {
    operationId: route.operation,
    summary: route.summary,
    parameters: [...pathParameters(route), ...queryParameters(route, schemaOf)],
    ...(body && {
      requestBody: {
        required: !route.isBodyOptional,
        content: { 'application/json': { schema: schemaOf(body, 'input') } },
      },
    }),
    responses: { ...answersOf(route, schemaOf), ...problemsOf(route) },
  }
}

const IN_PATH =
  'Percent-encode an id of letters, digits and . _ : @ , = + - (after the first colon also spaces and other letters). ' +
  'Give every other id as ~ and the base64url of its UTF-8; any id may have this form. ' +
  'Percent-encoded, an id with ? would end at the ?, and an id that ends in / and the name of an operation would name that operation. ' +
  'The header Location has the right form'

function pathParameters({ path }: Route): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: IN_PATH,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query }: Route, schemaOf: SchemaOf): Schema[] {
  if (!query) return []
  const { properties = {} } = schemaOf(query, 'input') as { properties?: Record<string, unknown> }
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }))
}

function answersOf({ answers }: Route, schemaOf: SchemaOf): Schema {
  const entries = Object.entries(answers).map(([status, { description, schema }]) => [
    status,
    {
      description,
      ...(schema && { content: { 'application/json': { schema: schemaOf(schema, 'output') } } }),
    },
  ])
  return Object.fromEntries(entries)
}

function problemsOf({ problems = [], method }: Route): Schema {
  const always = method === 'get' ? [400, 500, 503] : [400, 413, 415, 500, 503]
  const schema = { $ref: '#/components/schemas/Problem' }
  const statuses = [...new Set([...always, ...problems])].sort()
  return Object.fromEntries(
    statuses.map(status => [
      status,
      {
        description: PROBLEM_TITLES[status],
        content: { 'application/problem+json': { schema } },
      },
    ]),
  )
}
