import { BODY_GRACE_MS, INLINE_BODY_BYTES_MAX } from '../bounds.ts'
import { hash32 } from '../hash.ts'
import { type Json, jsonBytes, sortedJson } from '../json.ts'

/**
 * An input or a result. A small body is in the head; a large one is an item of its own, found by `ref` and kept until `expiresAt`.
 */
export type Body =
  | { readonly inline: Json }
  | { readonly ref: string; readonly bytes: number; readonly expiresAt: number }

/** A body that is an item of its own. */
export type SeparateBody = Extract<Body, { ref: string }>

/** A large value, as an item that is written before the head that refers to it. */
export type ValueWrite = { readonly ref: string; readonly value: Json; readonly expiresAt: number }

/**
 * Sort keys of a task's items beside its head. All carry the birth. An input's key also carries the revision that set it and a
 * hash. Bodies are written before the head, so when two changes are decided on one revision, the loser must not overwrite the input
 * of the winner.
 */
export const bodyRef = {
  input: (born: string, revision: number, value: Json) => `in#${born}#${revision}#${digest(value)}`,
  previous: (born: string, value: Json) => `prev#${born}#${digest(value)}`,
  callbacks: (born: string, revision: number, value: Json) => `call#${born}#${revision}#${digest(value)}`,
  result: (born: string, fence: number, value: Json) =>
    `out#${born}#${fenceOrder(fence)}#${contentDigest(value)}`,
  run: (born: string, fence: number) => `${runRefPrefix(born)}${fenceOrder(fence)}`,
}

/** Two writers that race for one revision or fence write under two names, so the loser cannot overwrite the winner's body. */
function digest(value: Json): string {
  return hash32(JSON.stringify(value)).toString(16)
}

/** A digest of 32 bits as up to 7 characters. The order of an object's members makes no difference. */
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

/** A value as a body: in the head when small, else an item of its own that must be written first. */
export function bodyOf(value: Json, ref: string, expiresAt: number): { body: Body; writes: ValueWrite[] } {
  const bytes = jsonBytes(value)
  if (bytes <= INLINE_BODY_BYTES_MAX) return { body: { inline: value }, writes: [] }
  return { body: { ref, bytes, expiresAt }, writes: [{ ref, value, expiresAt }] }
}

/** Bytes of a body's value as JSON; 0 without a body. */
export function bodyBytes(body: Body | undefined): number {
  if (!body) return 0
  return 'ref' in body ? body.bytes : jsonBytes(body.inline)
}

/** When a body of a task due at `dueAt` expires. The time is so late that a renewal is rare. */
export function bodyExpiry(dueAt: number, now: number, retentionMs: number): number {
  return Math.max(dueAt, now) + retentionMs + BODY_GRACE_MS
}
