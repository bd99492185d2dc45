import { problemAnswer } from '../shared/api/problems.ts'
import type { Rule } from '../shared/core/rules/rules.ts'
import { type DescribedAnswer, type Operation, TAGS } from '../shared/service/operation.ts'
import type { Comments } from './comments.ts'
import { recordExamples } from './examples/examples.ts'
import { createExamples, type Examples } from './examples/in-document.ts'
import { createRefusals, type Refusals } from './refusals.ts'
import { openApiSchemas, type Schema, type Schemas } from './schemas.ts'

/**
 * Makes the OpenAPI 3.1 document of the HTTP API. It has four sources:
 *
 * - the operations (`shared/service`): methods, paths, the rules of queries, bodies and answers, problems, costs, and the words about
 *   them;
 * - the rules (`shared/api`), with the comments on their members as descriptions (`schemas.ts`, `comments.ts`);
 * - the problems (`refusals.ts`): what each code means, and what API Gateway answers by itself;
 * - the examples (`examples/`): a conversation with a system in memory, recorded.
 *
 * `write.ts` writes the document to `functions/http/openapi.json`. The bundle of the API has it as a file next to itself. Without
 * `comments` the fields have no descriptions. Reading the comments takes 10 seconds.
 */
export async function openApiOf(
  operations: readonly Operation[],
  comments: Comments | undefined,
): Promise<Schema> {
  const schemas = await openApiSchemas(comments)
  const examples = createExamples(await recordExamples(operations))
  const refusals = createRefusals(examples)
  schemas.schemaOf(problemAnswer)
  const paths: Record<string, Schema> = {}
  for (const operation of operations) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method]: descriptionOf(operation, { schemas, examples, refusals }),
    }
  }
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: SERVERS,
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { ...sorted(schemas.components()), GatewayRefusal: GATEWAY_REFUSAL },
      responses: sorted(refusals.responses()),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
    security: [{}, { SigV4: [] }, { Bearer: [] }],
  }
}

const INFO = {
  title: 'Baton',
  version: '1',
  summary: 'Tasks that are published, claimed, run and finished.',
  description:
    'Bodies are JSON. Unknown fields are refused by name. Keys, stages, tags and the names of users and workers contain no control characters. Times are ISO 8601 in UTC. Durations are milliseconds, in fields that end in `Ms`. A refused request is answered with a problem document (RFC 9457); its `type` is stable, and a program may decide by it. Lists have pages: `nextCursor` of an answer is the `cursor` of the next request. The examples are one conversation with a system: a request and its answer have the same name, such as `publish-created`.',
  license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
}

const SERVERS = [
  { url: '/', description: 'The API that serves this document.' },
  { url: 'http://127.0.0.1:7070', description: 'The local system on its usual port.' },
]

const SECURITY_SCHEMES = {
  SigV4: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'A signature of AWS, version 4, for the service `execute-api`: for a deployed API with `auth: iam`, and for the local system with `--auth iam`. The local system takes unsigned calls, too.',
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token, for a deployed API to which its owner has added an authorizer for tokens.',
  },
}

const GATEWAY_REFUSAL = {
  type: 'object',
  description: 'What API Gateway answers by itself. It is not a problem document.',
  properties: { message: { type: 'string', description: 'What API Gateway says.' } },
  required: ['message'],
}

const HEADERS = {
  RetryAfter: {
    description: 'After how many seconds to try again.',
    schema: { type: 'integer', minimum: 0 },
    example: 2,
  },
}

function sorted(members: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
}

type Sources = { readonly schemas: Schemas; readonly examples: Examples; readonly refusals: Refusals }

function descriptionOf(operation: Operation, sources: Sources): Schema {
  const { name, tag, summary, description, cost, body } = operation
  const { refusalsOf } = sources.refusals
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: [description, cost && `Cost: ${cost}`].filter(Boolean).join('\n\n') || summary,
    parameters: [...pathParameters(operation, sources), ...queryParameters(operation, sources)],
    ...(body && { requestBody: requestBodyOf(operation, body, sources) }),
    responses: { ...answersOf(operation, sources), ...refusalsOf(operation) },
  }
}

function requestBodyOf(
  { name, isBodyOptional = false }: Operation,
  body: Rule,
  { schemas, examples }: Sources,
): Schema {
  const content = { schema: schemas.schemaOf(body), ...examples.ofRequest(name) }
  return { required: !isBodyOptional, content: { 'application/json': content } }
}

const IN_PATH =
  'Percent-encode an id of letters, digits and . _ : @ , = + - (after the first colon also spaces and other letters). ' +
  'Give every other id as ~ and the base64url of its UTF-8; any id may have this form. ' +
  'Percent-encoded, an id with ? would end at the ?, and an id that ends in / and the name of an operation would name that operation. ' +
  'The header Location has the right form.'

/** What the parameters of paths name. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'The id of the task or of the canvas, such as `resize:img-1`.',
  runId: 'The id of the run, from the claim.',
  type: 'The name of the task type.',
  name: 'The name of the schedule.',
}

function pathParameters({ path, name: operation }: Operation, { examples }: Sources): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: `${PATH_PARAMETERS[name]} ${IN_PATH}`,
    schema: { type: 'string', minLength: 1 },
    ...examples.ofParameter(operation, 'path', name),
  }))
}

function queryParameters({ query, name: operation }: Operation, { schemas, examples }: Sources): Schema[] {
  if (!query) return []
  const { properties = {}, required = [] } = schemas.schemaOf(query) as {
    readonly properties?: Readonly<Record<string, Schema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    ...(description !== undefined && { description }),
    schema,
    ...examples.ofParameter(operation, 'query', name),
    ...(schema.type === 'array' && { style: 'form', explode: true }),
  }))
}

function answersOf(operation: Operation, sources: Sources): Schema {
  const statuses = Object.entries(operation.answers)
  return Object.fromEntries(
    statuses.map(([status, one]) => [status, answerOf(operation, Number(status), one, sources)]),
  )
}

function answerOf(
  { name }: Operation,
  status: number,
  { description, schema, contentType, location }: DescribedAnswer,
  { schemas, examples }: Sources,
): Schema {
  const shown = examples.ofAnswer(name, status)
  const content = contentType
    ? { [contentType]: { schema: { type: 'string' }, ...shown } }
    : schema && { 'application/json': { schema: schemas.schemaOf(schema), ...shown } }
  return {
    description,
    ...(location !== undefined && {
      headers: {
        Location: {
          description: `The path of ${location}.`,
          schema: { type: 'string' },
          ...examples.locationOf(name, status),
        },
      },
    }),
    ...(content && { content }),
  }
}
