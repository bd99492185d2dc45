import { BatonError } from '../core/errors.ts'
import { SCHEMA_VERSION } from '../core/limits.ts'
import type { Task } from '../core/task.ts'
import type { CanvasLook, Delivery, Dispatch, LateEvents, Look, MinuteLook, Wake } from '../ports.ts'

/** The text of every message on a type's queue and on the wake queue, and back. */

type WakeMessage =
  | ({ kind: 'look' } & Omit<Look, 'delaySeconds'>)
  | ({ kind: 'minute'; minute: number } & Partial<MinuteLook>)
  | ({ kind: 'canvas' } & Omit<CanvasLook, 'delaySeconds'>)
  | ({ kind: 'events' } & Omit<LateEvents, 'delaySeconds'>)

export function encodeDispatch({ task, passedOn }: Pick<Dispatch, 'task'> & { passedOn?: number }): string {
  return asciiJson({ v: SCHEMA_VERSION, task, ...(passedOn && { passedOn }) })
}

/** @throws BatonError `newer-schema` for a message of newer code, `invalid` for anything that is no dispatch. */
export function decodeDispatch(body: string): Pick<Delivery, 'task' | 'passedOn'> {
  const { task, passedOn = 0 } = parse(body)
  if (typeof task !== 'object' || task === null) throw malformed('a dispatch', body)
  return { task: task as Task, passedOn: Number(passedOn) }
}

export function encodeLook({ id, born, revision, hops }: Look): string {
  return encodeWake({ kind: 'look', id, born, revision, hops })
}

export function encodeMinute(look: MinuteLook | { minute: number }): string {
  return encodeWake({ kind: 'minute', ...look })
}

export function encodeCanvasLook({ id, born, from }: CanvasLook): string {
  return encodeWake({ kind: 'canvas', id, born, from })
}

export function encodeLateEvents({ events, hops }: LateEvents): string {
  return encodeWake({ kind: 'events', events, hops })
}

function encodeWake(message: WakeMessage): string {
  return asciiJson({ v: SCHEMA_VERSION, ...message })
}

/** SQS refuses some characters that JSON allows as they are (U+FFFE, U+FFFF); escaped, any text passes. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** @throws BatonError `newer-schema` for a message of newer code, `invalid` for anything that is no wake message. */
export function decodeWake(body: string): Wake | { readonly kind: 'events'; readonly late: LateEvents } {
  const message = parse(body) as Partial<WakeMessage>
  switch (message.kind) {
    case 'look': {
      const { id, born, revision = 0, hops = 0 } = message
      if (typeof id !== 'string' || typeof born !== 'string') throw malformed('a look', body)
      return { kind: 'look', look: { id, born, revision, hops, delaySeconds: 0 } }
    }
    case 'minute':
      if (typeof message.minute !== 'number') throw malformed('a minute', body)
      return message.shard === undefined
        ? { kind: 'minute', minute: message.minute }
        : { kind: 'minute-shard', look: message as MinuteLook }
    case 'canvas': {
      const { id, born, from = 0 } = message
      if (typeof id !== 'string' || typeof born !== 'string') throw malformed('a look at a canvas', body)
      return { kind: 'canvas', look: { id, born, from: Number(from), delaySeconds: 0 } }
    }
    case 'events':
      return { kind: 'events', late: lateEventsIn(message, body) }
    default:
      throw malformed('a wake message', body)
  }
}

function lateEventsIn({ events, hops = 0 }: Partial<LateEvents>, body: string): LateEvents {
  if (!Array.isArray(events)) throw malformed('late events', body)
  return { events, hops: Number(hops), delaySeconds: 0 }
}

function parse(body: string): Record<string, unknown> {
  let message: unknown
  try {
    message = JSON.parse(body)
  } catch {
    throw malformed('JSON', body)
  }
  if (typeof message !== 'object' || message === null || !('v' in message)) throw malformed('a message', body)
  if (typeof message.v === 'number' && message.v > SCHEMA_VERSION) {
    throw new BatonError(
      'newer-schema',
      `a message of version ${message.v} met code of version ${SCHEMA_VERSION}`,
    )
  }
  return message as Record<string, unknown>
}

function malformed(what: string, body: string): BatonError {
  return new BatonError('invalid', `not ${what}: ${body.slice(0, 200)}`)
}
