import { BODY_GRACE_MS, INLINE_BODY_BYTES_MAX } from '../bounds.ts'
import { type Json, jsonBytes, sortedJson } from '../values/json.ts'
import { hash32 } from '../values/text.ts'

/**
 * An input or a result. A small body is in the head. A large body is an item of its own with the sort key `ref`, kept until
 * `expiresAt`.
 */
export type Body =
  | { readonly inline: Json }
  | { readonly ref: string; readonly bytes: number; readonly expiresAt: number }

/** A body that is an item of its own. */
export type SeparateBody = Extract<Body, { ref: string }>

/** A large value, as an item that is written before the head that refers to it. */
export type ValueWrite = { readonly ref: string; readonly value: Json; readonly expiresAt: number }

/**
 * The sort keys of a task's items besides its head. All of them name the birth. The keys of inputs and callbacks also name the
 * revision that set them. Bodies are written before the head, so of two changes decided on one revision, both may write their
 * bodies. The digest in a key keeps the losing change from overwriting the body of the winning one.
 */
export const bodyRef = {
  input: (born: string, revision: number, value: Json) => `in#${born}#${revision}#${digest(value)}`,
  previous: (born: string, value: Json) => `prev#${born}#${digest(value)}`,
  callbacks: (born: string, revision: number, value: Json) => `call#${born}#${revision}#${digest(value)}`,
  result: (born: string, fence: number, value: Json) =>
    `out#${born}#${fenceOrder(fence)}#${contentDigest(value)}`,
  run: (born: string, fence: number) => `${runRefPrefix(born)}${fenceOrder(fence)}`,
}

function digest(value: Json): string {
  return hash32(JSON.stringify(value)).toString(16)
}

/** A digest of 32 bits, as up to 7 characters. It does not depend on the order of an object's members. */
export function contentDigest(value: Json): string {
  return hash32(sortedJson(value)).toString(36)
}

/** The prefix of the keys of one birth's run records, which sort oldest first. */
export function runRefPrefix(born: string): string {
  return `run#${born}#`
}

function fenceOrder(fence: number): string {
  return String(fence).padStart(10, '0')
}

/** The value as a body. A large value becomes an item of its own, which must be written before the head. */
export function bodyOf(value: Json, ref: string, expiresAt: number): { body: Body; writes: ValueWrite[] } {
  const bytes = jsonBytes(value)
  if (bytes <= INLINE_BODY_BYTES_MAX) return { body: { inline: value }, writes: [] }
  return { body: { ref, bytes, expiresAt }, writes: [{ ref, value, expiresAt }] }
}

/** The bytes of a body's value as JSON; 0 without a body. */
export function bodyBytes(body: Body | undefined): number {
  if (!body) return 0
  return 'ref' in body ? body.bytes : jsonBytes(body.inline)
}

/** The time at which a body of a task due at `dueAt` expires. It is so late that a renewal is rare. */
export function bodyExpiry(dueAt: number, now: number, retentionMs: number): number {
  return Math.max(dueAt, now) + retentionMs + BODY_GRACE_MS
}
