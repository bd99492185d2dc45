import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

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
  const service = signature?.[2] ?? (prefix ? servicesByTarget[prefix] : undefined) ?? 'unknown'
  return {
    caller: signature?.[1] ?? 'anonymous',
    service,
    operation: operation ?? restOperation(method, path),
  }
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
  if (typeof target !== 'string') return [undefined, undefined]
  const dot = target.indexOf('.')
  return [target.slice(0, dot), target.slice(dot + 1)]
}

/** The operation of a REST request: `POST /schedules/x` is CreateSchedule, `GET /schedules` ListSchedules. */
function restOperation(method: string, path: string) {
  const [collection, name] = path.split('?')[0]?.split('/').filter(Boolean) ?? []
  if (collection === undefined) return 'Unknown'
  const noun = { schedules: 'Schedule', 'schedule-groups': 'ScheduleGroup' }[collection] ?? 'Unknown'
  if (method === 'GET' && name === undefined) return `List${noun}s`
  return `${schedulerOperations[method] ?? method}${noun}`
}
