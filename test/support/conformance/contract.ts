import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** The OpenAPI document as a contract: its operations, and what is wrong with an answer by its words. */

/** A part of the document. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the document as its readers do, without types
export type Part = any

export type Operation = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly Part[]
  /** The schema of the body, if the operation takes one. */
  readonly body?: Part
  readonly responses: Part
}

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export type Contract = {
  readonly document: Part
  readonly operations: readonly Operation[]
  /** The part that a reference names. */
  resolved(part: Part): Part
  /** Why the answer breaks the document; none when it keeps it. */
  faultsOf(operation: Operation, answer: Answer): string[]
}

const FILE = resolve(import.meta.dirname, '../../../functions/http/openapi.json')

export function readContract(): Contract {
  const document: Part = JSON.parse(readFileSync(FILE, 'utf8'))
  const resolved = (part: Part): Part =>
    part.$ref
      ? part.$ref
          .slice(2)
          .split('/')
          .reduce((at: Part, name: string) => at[name], document)
      : part
  const validate = validator(document)
  return {
    document,
    operations: operationsIn(document),
    resolved,
    faultsOf: (operation, answer) => faultsOf(operation, answer, resolved, validate),
  }
}

function operationsIn({ paths }: Part): Operation[] {
  return Object.entries<Part>(paths).flatMap(([path, methods]) =>
    Object.entries<Part>(methods).map(([method, { operationId, parameters, requestBody, responses }]) => ({
      name: operationId,
      method: method.toUpperCase(),
      path,
      parameters,
      responses,
      ...(requestBody && { body: requestBody.content['application/json'].schema }),
    })),
  )
}

type Validate = (schema: Part, value: unknown) => string | undefined

/** Checks values. An answer with a field that its schema does not name breaks the document, too. */
function validator(document: Part): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': isTime, uri: true } })
  const compiled = new Map<string, ValidateFunction>()
  const closed = closedIn(document.components.schemas)
  return (schema, value) => {
    const key = JSON.stringify(schema)
    const check = compiled.get(key) ?? ajv.compile({ ...schema, components: { schemas: closed } })
    compiled.set(key, check)
    return check(value) ? undefined : ajv.errorsText(check.errors)
  }
}

/** The schemas without room for other fields. */
function closedIn(part: Part): Part {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map(closedIn)
  const members = Object.fromEntries(Object.entries(part).map(([name, member]) => [name, closedIn(member)]))
  const isOpen = part.type === 'object' && part.properties && part.additionalProperties === undefined
  return isOpen ? { ...members, additionalProperties: false } : members
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)
}

function faultsOf(
  { responses }: Operation,
  { status, headers, text }: Answer,
  resolved: Contract['resolved'],
  validate: Validate,
): string[] {
  if (status >= 500 && status !== 501) return [`status ${status}: ${text}`]
  const documented = responses[status] && resolved(responses[status])
  if (!documented) return [`status ${status} is not documented`]
  const missing = Object.keys(documented.headers ?? {}).filter(name => !headers.has(name))
  const lacking = missing.map(name => `status ${status} has no header ${name}`)
  if (!documented.content) return text === '' ? lacking : [...lacking, `status ${status} has a body`]
  const type = (headers.get('content-type') ?? '').split(';')[0] ?? ''
  const content = documented.content[type]
  if (!content) return [...lacking, `status ${status} has the content type '${type}'`]
  const fault = validate(content.schema, JSON.parse(text))
  return fault === undefined ? lacking : [...lacking, `status ${status} breaks its schema: ${fault}`]
}
