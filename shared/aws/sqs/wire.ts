import { SCHEMA_VERSION } from '../../core/bounds.ts'
import type { FreedPermit } from '../../core/limits/limits.ts'
import type { LimitLook, Line } from '../../core/limits/line.ts'
import { splitTaskId } from '../../core/task/task.ts'
import type { JobLook } from '../../core/types/task-type.ts'
import { BatonError, defined, illegal } from '../../core/values/values.ts'
import type {
  CanvasLook,
  Dispatch,
  LateEvents,
  Look,
  MinuteLook,
  TaskCodec,
  Wake,
} from '../../ports/messages.ts'

/** Encodes and decodes every message on the queues of the types, on the wake queue and on the jobs queue. */

type WakeMessage =
  | ({ kind: 'look' } & Omit<Look, 'delaySeconds'>)
  | ({ kind: 'minute'; minute: number } & Partial<MinuteLook>)
  | ({ kind: 'canvas' } & Omit<CanvasLook, 'delaySeconds'>)
  | ({ kind: 'job' } & Omit<JobLook, 'delaySeconds'>)
  | ({ kind: 'limit' } & LimitLookForm)
  | ({ kind: 'events' } & Omit<LateEvents, 'delaySeconds'>)

/** A look at a limit as its message names the members: `for` is the kind of the line, and `given` is `released`. */
type LimitLookForm = Pick<LimitLook, 'at' | 'shards'> & {
  readonly limit: string
  readonly for?: Line['kind']
  readonly given?: number
}

/**
 * Version of the envelope of a dispatch. The form that it carries has a version of its own. In version 1 a dispatch carried the
 * task in the internal form of its code, which other code may not understand.
 */
const DISPATCH_VERSION = 2

/** The envelope of a dispatch. Every version names the task. */
export type DecodedDispatch = {
  readonly id: string
  readonly passedOn: number
  readonly hops?: number
  readonly freed?: FreedPermit
  /** The form of the task that it carries. Undefined when this code does not know the version of the envelope. */
  readonly form?: unknown
}

export function encodeDispatch(
  codec: TaskCodec,
  { task, passedOn, hops, freed }: Omit<Dispatch, 'delaySeconds'>,
): string {
  const head = codec.encode(task)
  return asciiJson({
    v: DISPATCH_VERSION,
    id: task.id,
    head,
    ...(passedOn && { passedOn }),
    ...(hops && { hops }),
    ...(freed && { freed: [freed.limit, freed.shard] }),
  })
}

/** @throws BatonError `invalid` for text that does not name a task. */
export function decodeDispatch(body: string): DecodedDispatch {
  const { v, id = idInVersion1(body), head, passedOn, hops, freed } = parsed(body)
  if (typeof id !== 'string' || !splitTaskId(id)) throw malformed('a dispatch', body)
  return {
    id,
    passedOn: countIn(passedOn),
    ...(hops !== undefined && { hops: countIn(hops) }),
    ...(Array.isArray(freed) && { freed: { limit: String(freed[0]), shard: countIn(freed[1]) } }),
    ...(v === DISPATCH_VERSION && { form: head }),
  }
}

/** The body of a message that begins a new chain: a dispatch counts its hops and passes from 0 again, and late events their hops. */
export function freshBody(body: string): string {
  let message: Record<string, unknown>
  try {
    message = parsed(body)
    if (message.kind === 'events') return asciiJson({ ...message, hops: 0 })
    decodeDispatch(body)
  } catch {
    return body
  }
  const { passedOn, hops, ...rest } = message
  return passedOn === undefined && hops === undefined ? body : asciiJson(rest)
}

/** A count in a message. 0 for any other value. */
function countIn(value: unknown): number {
  const count = Number(value)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}

function idInVersion1(body: string): unknown {
  const { task } = parsed(body)
  return typeof task === 'object' && task !== null && 'id' in task ? task.id : undefined
}

export function encodeLook({ delaySeconds: _delay, ...look }: Look): string {
  return encodeWake({ kind: 'look', ...look })
}

export function encodeMinute(look: MinuteLook | { minute: number }): string {
  return encodeWake({ kind: 'minute', ...look })
}

export function encodeCanvasLook({ id, born, from }: CanvasLook): string {
  return encodeWake({ kind: 'canvas', id, born, from })
}

export function encodeJob({ delaySeconds: _delay, ...look }: JobLook): string {
  return encodeWake({ kind: 'job', ...look })
}

export function encodeLimitLook({ line, at, released, shards }: LimitLook): string {
  return encodeWake({
    kind: 'limit',
    ...{ limit: line.limit, for: line.kind },
    ...defined({ at, given: released, shards }),
  })
}

export function encodeLateEvents({ events, hops }: LateEvents): string {
  return encodeWake({ kind: 'events', events, hops })
}

function encodeWake(message: WakeMessage): string {
  return asciiJson({ v: SCHEMA_VERSION, ...message })
}

/** JSON text in ASCII. SQS refuses some characters that JSON allows (U+FFFE, U+FFFF), but accepts them escaped. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A message on the wake queue or the jobs queue: a wake, or events that could not be published yet. */
type Message = Wake | { readonly kind: 'events'; readonly late: LateEvents }

/** Decodes a wake message. @throws BatonError `newer-schema` for a message of newer code, `invalid` for any other text. */
export function decodeWake(body: string): Message {
  const message = parse(body) as Partial<WakeMessage>
  const wake = message.kind && READERS[message.kind]?.(message as never)
  if (!wake) throw malformed(`a wake message${message.kind ? ` of kind ${message.kind}` : ''}`, body)
  return wake
}

type Of<Kind> = Partial<Extract<WakeMessage, { kind: Kind }>>

const READERS: { readonly [Kind in WakeMessage['kind']]: (message: Of<Kind>) => Message | undefined } = {
  ...{ look: lookIn, minute: minuteIn, canvas: canvasIn },
  ...{ job: jobIn, limit: limitIn, events: eventsIn },
}

function lookIn({ id, born, revision = 0, hops = 0 }: Of<'look'>): Wake | undefined {
  if (typeof id !== 'string' || typeof born !== 'string') return undefined
  return { kind: 'look', look: { id, born, revision, hops, delaySeconds: 0 } }
}

function minuteIn(message: Of<'minute'>): Wake | undefined {
  const { minute, shard } = message
  if (typeof minute !== 'number') return undefined
  return shard === undefined
    ? { kind: 'minute', minute }
    : { kind: 'minute-shard', look: message as MinuteLook }
}

function canvasIn({ id, born, from = 0 }: Of<'canvas'>): Wake | undefined {
  if (typeof id !== 'string' || typeof born !== 'string') return undefined
  return { kind: 'canvas', look: { id, born, from: Number(from), delaySeconds: 0 } }
}

function jobIn({ type, job, bucket, shard, after }: Of<'job'>): Wake | undefined {
  const isWhole = typeof type === 'string' && job?.kind !== undefined && typeof shard === 'number'
  if (!isWhole || bucket === undefined) return undefined
  return { kind: 'job', look: { type, job, bucket, shard, ...(after && { after }), delaySeconds: 0 } }
}

/** A message of an earlier version names no kind. It is about permits. */
function limitIn({ limit, for: kind = 'permit', at, given, shards }: Of<'limit'>): Wake | undefined {
  if (typeof limit !== 'string') return undefined
  const look = { line: { kind, limit }, ...defined({ at, released: given, shards }), delaySeconds: 0 }
  return { kind: 'limit', look }
}

function eventsIn({ events, hops = 0 }: Of<'events'>): Message | undefined {
  if (!Array.isArray(events)) return undefined
  return { kind: 'events', late: { events, hops: Number(hops), delaySeconds: 0 } }
}

/** @throws BatonError `newer-schema` for a message of newer code, `invalid` for text that is not a message. */
function parse(body: string): Record<string, unknown> {
  const message = parsed(body)
  if (typeof message.v === 'number' && message.v > SCHEMA_VERSION) {
    throw new BatonError(
      'newer-schema',
      `the message has version ${message.v}, and this code knows versions up to ${SCHEMA_VERSION}: deploy newer code`,
    )
  }
  return message
}

function parsed(body: string): Record<string, unknown> {
  let message: unknown
  try {
    message = JSON.parse(body)
  } catch {
    throw malformed('JSON', body)
  }
  if (typeof message !== 'object' || message === null || !('v' in message)) throw malformed('a message', body)
  return message as Record<string, unknown>
}

function malformed(what: string, body: string): BatonError {
  return illegal(`the message is not ${what}: ${body.slice(0, 200)}`)
}
