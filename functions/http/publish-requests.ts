import type * as z from 'zod'
import type { FieldProblem } from '../../shared/core/errors.ts'
import { type Json, jsonBytes } from '../../shared/core/json.ts'
import { MAX_BODY_BYTES, MAX_DELAY_MS } from '../../shared/core/limits.ts'
import type { PartialOptions } from '../../shared/core/options.ts'
import type { PatchRequest } from '../../shared/runtime/operate-task.ts'
import type { PublishRequest } from '../../shared/runtime/publication-of.ts'
import { isTraceparent } from '../../shared/runtime/traceparent.ts'
import type { patchBody, publishBody } from './schemas/requests.ts'

type PublishFields = z.infer<typeof publishBody>
type PatchFields = z.infer<typeof patchBody>

/** What of a body's fields does not go together, or is out of bounds that no schema knows. */
export function fieldProblems(body: PublishFields | PatchFields, now: number, at = ''): FieldProblem[] {
  const { dueAt, delayMs } = body
  const problems: FieldProblem[] = []
  const add = (field: string, message: string) => {
    problems.push({ path: at === '' ? field : `${at}.${field}`, message })
  }
  if (dueAt !== undefined && delayMs !== undefined) add('delayMs', 'excludes dueAt: give one of the two')
  if (dueAt !== undefined && Date.parse(dueAt) > now + MAX_DELAY_MS) add('dueAt', 'must be within ten years')
  if ('clean' in body && body.ifExists !== 'restart') add('clean', 'is for ifExists "restart" only')
  return problems
}

/** Whether a value is too long to be stored, as the problem of its field. */
export function sizeProblem(value: Json | undefined, path: string): FieldProblem | undefined {
  if (value === undefined) return undefined
  const bytes = jsonBytes(value)
  if (bytes <= MAX_BODY_BYTES) return undefined
  return { path, message: `has ${bytes} bytes as JSON; at most ${MAX_BODY_BYTES} are stored` }
}

export function publishRequestOf(body: PublishFields, headers: Headers): PublishRequest {
  const { type, key, input, userId, tags, delayMs, priority, ifExists, clean } = body
  const traceparent = body.traceparent ?? traceOf(headers)
  return {
    type,
    options: optionsOf(body),
    ...given({ key, input, userId, tags, delayMs, priority, ifExists, clean, traceparent }),
    ...given({ dueAt: timeOf(body.dueAt) }),
  }
}

export function patchRequestOf(body: PatchFields): PatchRequest {
  const { input, tags, delayMs, priority } = body
  const options = optionsOf(body)
  return {
    ...given({ input, tags, delayMs, priority, dueAt: timeOf(body.dueAt) }),
    ...(Object.keys(options).length > 0 && { options }),
  }
}

function optionsOf(body: PatchFields | PublishFields): PartialOptions {
  const { concurrency, workerIds, minWorkerVersion, heartbeatMs, leaseMs } = body
  const { timeoutMs, deadlineMs, retentionMs, retry } = body
  return given({
    concurrency,
    workerIds,
    minWorkerVersion,
    heartbeatMs,
    leaseMs,
    timeoutMs,
    deadlineMs,
    retentionMs,
    retry,
  })
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

function given<Members extends object>(members: Members): Given<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, member]) => member !== undefined),
  ) as Given<Members>
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** A caller's trace goes on in his tasks; a header that is none is passed over, as the standard asks. */
function traceOf(headers: Headers): string | undefined {
  const header = headers.get('traceparent')
  return header !== null && isTraceparent(header) ? header : undefined
}
