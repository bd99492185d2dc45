import { defined } from '../../../core/defined.ts'
import type { Json } from '../../../core/json.ts'
import type { Body } from '../../../core/task/body.ts'
import type { TaskError } from '../../../core/task/error.ts'
import type { EndCause, EndedRun, EndedRunState, LiveRun } from '../../../core/task/runs.ts'
import type { Task } from '../../../core/task/task.ts'
import type { Permit, Wait } from '../../../core/task/wait.ts'

/**
 * The parts of a head as attribute values. Users' JSON is stored as JSON text, because DynamoDB's own maps lose lone surrogates
 * and know no key `__proto__`. A body in an item of its own is a map, so the two forms cannot be mistaken.
 */

export type BodyValue = string | { readonly ref: string; readonly bytes: number; readonly expires: number }

export function bodyValue(body: Body): BodyValue {
  if ('inline' in body) return JSON.stringify(body.inline)
  return { ref: body.ref, bytes: body.bytes, expires: body.expiresAt }
}

export function bodyFrom(value: BodyValue): Body {
  if (typeof value === 'string') return { inline: JSON.parse(value) as Json }
  return { ref: value.ref, bytes: value.bytes, expiresAt: value.expires }
}

/** Name, message, stack and causes as JSON text. Missing members at the end are left out. A missing stack before causes is null. */
export function errorValue({ name, message, stack, causes }: TaskError): string {
  if (causes)
    return JSON.stringify([name, message, stack ?? null, causes.map(cause => [cause.name, cause.message])])
  return JSON.stringify(stack === undefined ? [name, message] : [name, message, stack])
}

type StoredError = readonly [string, string, (string | null)?, (readonly (readonly [string, string])[])?]

export function errorFrom(value: string): TaskError {
  const [name, message, stack = null, causes] = JSON.parse(value) as StoredError
  return {
    name,
    message,
    ...(stack !== null && { stack }),
    ...(causes && { causes: causes.map(([causeName, text]) => ({ name: causeName, message: text })) }),
  }
}

/** A live run. Its fence is its key in the map. */
export type LiveValue = {
  readonly by: string
  readonly at: number
  readonly lease: number
  readonly length?: number
  readonly limit?: number
  readonly progress?: string
  readonly permits?: Readonly<Record<string, string>>
}

export function liveValue(run: LiveRun): LiveValue {
  return defined({
    by: run.workerId,
    at: run.startedAt,
    lease: run.leaseUntil,
    length: run.leaseMs,
    limit: run.timeoutAt,
    progress: jsonText(run.progress),
    permits: permitsValue(run.permits),
  })
}

export function liveFrom(fence: number, value: LiveValue): LiveRun {
  return defined({
    fence,
    workerId: value.by,
    startedAt: value.at,
    leaseUntil: value.lease,
    leaseMs: value.length,
    timeoutAt: value.limit,
    progress: parsedJson(value.progress),
    permits: permitsFrom(value.permits),
  })
}

/** An ended run. Its fence is its key in the map, or an attribute of its record. */
export type EndedValue = {
  readonly by: string
  readonly state: EndedRunState
  readonly at: number
  readonly end: number
  readonly result?: BodyValue
  readonly error?: string
  readonly cause?: EndCause
  readonly progress?: string
  readonly log?: string
  readonly piece?: string
  readonly past?: true
  readonly word?: string
}

export function endedValue(run: EndedRun): EndedValue {
  return defined({
    by: run.workerId,
    state: run.state,
    at: run.startedAt,
    end: run.endedAt,
    result: run.result && bodyValue(run.result),
    error: run.error && errorValue(run.error),
    cause: run.cause,
    progress: jsonText(run.progress),
    log: run.log,
    piece: run.piece,
    past: run.past,
    word: run.reportDigest,
  })
}

export function endedFrom(fence: number, value: EndedValue): EndedRun {
  return defined({
    fence,
    workerId: value.by,
    state: value.state,
    startedAt: value.at,
    endedAt: value.end,
    result: value.result === undefined ? undefined : bodyFrom(value.result),
    error: value.error === undefined ? undefined : errorFrom(value.error),
    cause: value.cause,
    progress: parsedJson(value.progress),
    log: value.log,
    piece: value.piece,
    past: value.past,
    reportDigest: value.word,
  })
}

function jsonText(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value)
}

function parsedJson(text: string | undefined): Json | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Json)
}

/** The first character of each key. Workers choose their ids: without the mark, `__proto__` would not be an ordinary key. */
const WORKER_MARK = '~'

export function failuresValue(failuresBy: Task['failuresBy']): Record<string, number> | undefined {
  const marked = Object.entries(failuresBy).map(([worker, count]) => [WORKER_MARK + worker, count] as const)
  return marked.length > 0 ? Object.fromEntries(marked) : undefined
}

export function failuresFrom(map: Readonly<Record<string, number>> | undefined): Record<string, number> {
  return Object.fromEntries(Object.entries(map ?? {}).map(([worker, count]) => [worker.slice(1), count]))
}

/** What a task waits for under a limit. A slot has `at` and `terms`, its rate text; a permit has neither. */
export type WaitValue = { readonly of: string; readonly at?: number; readonly terms?: string }

export function waitValue(wait: Wait): WaitValue {
  return wait.kind === 'slot' ? { of: wait.limit, at: wait.at, terms: wait.rateText } : { of: wait.limit }
}

export function waitFrom({ of: limit, at, terms = '' }: WaitValue): Wait {
  return at === undefined ? { kind: 'permit', limit } : { kind: 'slot', limit, at, rateText: terms }
}

/** The run's permit holders, by limit. */
function permitsValue(permits: readonly Permit[] | undefined): Record<string, string> | undefined {
  return permits && Object.fromEntries(permits.map(({ limit, holder }) => [limit, holder]))
}

function permitsFrom(value: Readonly<Record<string, string>> | undefined): Permit[] | undefined {
  return value && Object.entries(value).map(([limit, holder]) => ({ limit, holder }))
}
