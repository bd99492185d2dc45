import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** One request to an AWS service, with its caller. */
export type Call = {
  /** The access key id that signed the request: the logical id of a function or mapping, or `tester`. */
  readonly caller: string
  /** The service name of the signature's scope: `dynamodb`, `sqs`, `scheduler`, … */
  readonly service: string
  /** `PutItem`, `SendMessage`, `CreateSchedule`, … */
  readonly operation: string
  readonly method: string
  /** The path with the query string. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The role of the call where it differs from the caller's role: a schedule names a role of its own. */
  readonly roleArn?: string
  /** Aborts when the caller closes the connection before the answer. */
  readonly hungUp?: AbortSignal
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A service behind the gateway. */
export type Backend = (call: Call) => Promise<Answer>

export function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const contentType = 'application/x-amz-json-1.0'
  return {
    status,
    headers: { 'content-type': contentType, ...headers },
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** An error in a form that all SDK protocols in use here understand. */
export function errorAnswer(status: number, code: string, message: string): Answer {
  return jsonAnswer(status, { __type: code, message, Message: message }, { 'x-amzn-errortype': code })
}

/** The body as a JSON object; an empty object when the body is something else. */
export function bodyOf(message: { readonly body: Buffer }): Record<string, unknown> {
  const value = jsonOf(message)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** The body as JSON, such as the event of an invocation; an empty object when the body is empty or is not JSON. */
export function jsonOf({ body }: { readonly body: Buffer }): unknown {
  const value = parsed(body.toString('utf8'))
  return value === undefined ? {} : value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * All text values of a field. They are found without parsing, because bodies may have hundreds of KB. Inside string values quotes
 * are escaped, and DynamoDB's attributes are typed objects. So only fields of the request itself can match.
 */
export function textFields(body: Buffer, name: string): string[] {
  return textsAfter(body, `"${name}":"`)
}

/** All text values of an attribute of DynamoDB in the body. They are found like the values of a field. */
export function textAttributes(body: Buffer, name: string): string[] {
  return textsAfter(body, `"${name}":{"S":"`)
}

function textsAfter(body: Buffer, opening: string): string[] {
  const found: string[] = []
  for (let at = body.indexOf(opening); at >= 0; at = body.indexOf(opening, at + 1)) {
    const text = textFrom(body, at + opening.length)
    if (text !== undefined) found.push(text)
  }
  return found
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]

/** The JSON text that begins here, after its quote. Undefined when it is not JSON: a line of a log may hold anything. */
function textFrom(body: Buffer, begin: number): string | undefined {
  let end = begin
  while (end < body.length && body[end] !== QUOTE) end += body[end] === BACKSLASH ? 2 : 1
  const raw = body.toString('utf8', begin, end)
  return raw.includes('\\') ? (parsed(`"${raw}"`) as string | undefined) : raw
}

const credentialScope = /Credential=([^/]+)\/\d+\/[^/]+\/([^/]+)\//

const schedulerOperations: Record<string, string> = {
  POST: 'Create',
  GET: 'Get',
  PUT: 'Update',
  DELETE: 'Delete',
}

const servicesByTarget: Record<string, string> = {
  DynamoDB_20120810: 'dynamodb',
  DynamoDBStreams_20120810: 'dynamodb',
  AmazonSQS: 'sqs',
  secretsmanager: 'secretsmanager',
  AWSEvents: 'events',
}

/** The caller, service and operation of a request, read from the signature and the target header alone. */
export function identify(headers: IncomingHttpHeaders, method: string, path: string) {
  const signature = credentialScope.exec(headers.authorization ?? '')
  const [prefix, operation] = splitTarget(headers['x-amz-target'])
  const target = prefix ? servicesByTarget[prefix] : undefined
  const service = signature?.[2] ?? target ?? 'unknown'
  return {
    caller: signature?.[1] ?? 'anonymous',
    service,
    operation: isTargetOf(service, target) ? (operation ?? restOperation(method, path)) : 'Unknown',
  }
}

/** Whether a service that is called by targets is called by one of its own. */
function isTargetOf(service: string, target: string | undefined): boolean {
  return target === service || !Object.values(servicesByTarget).includes(service)
}

/**
 * Whether a request comes from a process of this local system. Only its processes have the system's access key, as the session
 * token of their credentials. The access key ids that sign requests are not secret.
 */
export function carriesKey(headers: IncomingHttpHeaders, accessKey: string): boolean {
  const given = Buffer.from(String(headers['x-amz-security-token']))
  const wanted = Buffer.from(accessKey)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

function splitTarget(target: string | string[] | undefined): [string, string] | [undefined, undefined] {
  const [, prefix, operation] = /^(\w+)\.(\w+)$/.exec(String(target)) ?? []
  return prefix === undefined || operation === undefined ? [undefined, undefined] : [prefix, operation]
}

/** The operation of a REST request: `POST /schedules/x` is CreateSchedule, `GET /schedules` ListSchedules. */
function restOperation(method: string, path: string) {
  const [collection, name] = path.split('?')[0]?.split('/').filter(Boolean) ?? []
  if (collection === undefined) return 'Unknown'
  const noun = { schedules: 'Schedule', 'schedule-groups': 'ScheduleGroup' }[collection] ?? 'Unknown'
  if (method === 'GET' && name === undefined) return `List${noun}s`
  return `${schedulerOperations[method] ?? method}${noun}`
}

/** What a request to EventBridge Scheduler names. The name is empty if the path has none. */
export function readSchedulerCall(call: Pick<Call, 'method' | 'path' | 'body'>) {
  const url = new URL(call.path, 'http://scheduler')
  const [, , name = ''] = url.pathname.split('/')
  const body = bodyOf(call) as {
    readonly GroupName?: string
    readonly Target?: { readonly RoleArn?: string }
  }
  // A request without content names its group in the query.
  const hasContent = call.method === 'POST' || call.method === 'PUT'
  const group = (hasContent ? body.GroupName : url.searchParams.get('groupName')) ?? 'default'
  return { name: decodeURIComponent(name), group, query: url.searchParams, body }
}
