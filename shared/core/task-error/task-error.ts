/**
 * An error as a value that can be stored. This file makes such a value from anything that code may throw, and cuts it to
 * the size that a record has room for. `redact.ts` hides the fields that a task's definition marks as secret.
 */

import { ERROR_BYTES_MAX, ERROR_CAUSES_MAX, SHORT_ERROR_CHARACTERS_MAX } from '../bounds.ts'
import { jsonBytes } from '../values/values.ts'

/**
 * Describes anything thrown by its name, message, stack and causes. Each becomes a text, because code may have put any value there.
 * Causes are the values in `cause` and the errors of an AggregateError, level by level. A cause that was met before is left out.
 */
export function errorOfThrown(thrown: unknown): TaskError {
  if (thrown instanceof ReportedError) return thrown.described
  const causes = causesOf(thrown)
  const stack = memberOf(thrown, 'stack')
  return {
    ...nameAndMessage(thrown),
    ...(isError(thrown) && stack !== undefined && { stack: textOf(stack) }),
    ...(causes.length > 0 && { causes }),
  }
}

/** An error that another process described and that is thrown again here. */
export class ReportedError extends Error {
  readonly described: TaskError

  constructor(described: TaskError, options?: ErrorOptions) {
    super(described.message, options)
    this.name = described.name
    this.described = described
  }
}

function causesOf(thrown: unknown): ErrorCause[] {
  const seen = new Set<unknown>([thrown])
  const found: ErrorCause[] = []
  let level = directCauses(thrown)
  while (level.length > 0) {
    const fresh = [...new Set(level)].filter(cause => !seen.has(cause))
    for (const cause of fresh) {
      if (found.length === ERROR_CAUSES_MAX) return found
      seen.add(cause)
      found.push(nameAndMessage(cause))
    }
    level = fresh.flatMap(directCauses)
  }
  return found
}

function directCauses(thrown: unknown): unknown[] {
  if (!isError(thrown)) return []
  const [cause, errors] = [memberOf(thrown, 'cause'), memberOf(thrown, 'errors')]
  return [...(cause === undefined || cause === null ? [] : [cause]), ...(Array.isArray(errors) ? errors : [])]
}

/**
 * Name and message of a thrown value. Node gives some errors a code and no message, for example when each address of a host refuses
 * the connection.
 */
function nameAndMessage(thrown: unknown): ErrorCause {
  if (!isError(thrown)) return { name: 'Error', message: textOf(thrown) }
  const message = memberOf(thrown, 'message')
  const text = message === '' ? (memberOf(thrown, 'code') ?? '') : message
  return { name: textOf(memberOf(thrown, 'name')), message: textOf(text) }
}

function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error
}

/** A member of an error. Undefined for other values, and when reading the member throws. */
function memberOf(thrown: unknown, name: string): unknown {
  try {
    return isError(thrown) ? Reflect.get(thrown, name) : undefined
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/**
 * A replacer for JSON.stringify, for logged values. JSON shows no members of an error, whose causes may form a circle, and it
 * cannot express a bigint.
 */
export function jsonReplacer(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Error ? errorOfThrown(value) : value
}

/** Bytes of an error's name. The name is cut to `SHORT_ERROR_CHARACTERS_MAX` as well, so only unusual scripts reach this bound. */
const NAME_BYTES_MAX = 240
/** Bytes reserved for the stack, however long the texts before it are. */
const STACK_BYTES_KEPT = 1_024
/** Bytes reserved for the message of each cause, however long the texts before it are. */
const CAUSE_BYTES_KEPT = 256

/**
 * The error as it is stored. The whole error takes at most `ERROR_BYTES_MAX`, measured in UTF-8 as JSON text. An error that is too
 * long first loses the end of its stack, then the ends of its causes' messages, then the end of its own message.
 */
export function fitError({ name, message, stack, causes = [] }: TaskError): TaskError {
  const kept = causes.slice(0, ERROR_CAUSES_MAX)
  const names = [name, ...kept.map(cause => cause.name)].map(one =>
    cutToBytes(cut(one, SHORT_ERROR_CHARACTERS_MAX), NAME_BYTES_MAX),
  )
  const texts = [message, ...kept.map(cause => cause.message), ...(stack === undefined ? [] : [stack])]
  const reserved = [0, ...kept.map(() => CAUSE_BYTES_KEPT), STACK_BYTES_KEPT]
  const frame = jsonBytes([...names.slice(0, 1), '', null, names.slice(1).map(one => [one, ''])])
  const [ownMessage = '', ...others] = fitTexts(texts, reserved, ERROR_BYTES_MAX - frame)
  return {
    name: names[0] ?? '',
    message: ownMessage,
    ...(stack !== undefined && { stack: others.at(-1) ?? '' }),
    ...(kept.length > 0 && {
      causes: kept.map((_, at) => ({ name: names[at + 1] ?? '', message: others[at] ?? '' })),
    }),
  }
}

/** Cuts each text to the room that the texts before it have left, minus the bytes reserved for the texts after it. */
function fitTexts(texts: readonly string[], reserved: readonly number[], room: number): string[] {
  const needed = texts.map((text, at) => Math.min(reserved[at] ?? 0, innerBytes(text)))
  let left = room
  return texts.map((text, at) => {
    const neededBehind = needed.slice(at + 1).reduce((sum, bytes) => sum + bytes, 0)
    const fitted = cutToBytes(text, left - neededBehind)
    left -= innerBytes(fitted)
    return fitted
  })
}

const ELLIPSIS = '…'
const ELLIPSIS_BYTES = 3

/** The beginning of the text that takes at most `most` bytes as JSON text in UTF-8, without its quotes. */
function cutToBytes(text: string, most: number): string {
  // A character takes at least one byte, so a text of megabytes need not be measured to its end.
  const beginning = text.slice(0, Math.max(0, most) + 1).toWellFormed()
  if (beginning.length === text.length && innerBytes(beginning) <= most) return beginning
  let [room, end] = [most - ELLIPSIS_BYTES, 0]
  for (const character of beginning) {
    room -= bytesInJson(character)
    if (room < 0) break
    end += character.length
  }
  return beginning.slice(0, end) + ELLIPSIS
}

function innerBytes(text: string): number {
  return jsonBytes(text) - 2
}

/** Bytes of one character as JSON.stringify writes it. It escapes only control characters, quotes and backslashes. */
function bytesInJson(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return '\b\t\n\f\r'.includes(character) ? 2 : 6
  if (character === '"' || character === '\\') return 2
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

/** Why a task or a run failed. `causes` lists the causes of the error, the nearest first. */
export type TaskError = {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly causes?: readonly ErrorCause[]
}

export type ErrorCause = { readonly name: string; readonly message: string }

/** The error without its stack and causes. Its name and message are cut to `SHORT_ERROR_CHARACTERS_MAX`. */
export function shortError(error: TaskError): TaskError {
  return {
    name: cut(error.name, SHORT_ERROR_CHARACTERS_MAX),
    message: cut(error.message, SHORT_ERROR_CHARACTERS_MAX),
  }
}

/** Whether `shortError` may have cut the name or the message. */
export function isCut({ name, message }: TaskError): boolean {
  return [name, message].some(text => text.length >= SHORT_ERROR_CHARACTERS_MAX)
}

/** The text, cut to `most` characters. Half a surrogate pair is replaced, because it has no UTF-8 form and cannot be stored. */
export function cut(text: string, most: number): string {
  return (text.length <= most ? text : `${text.slice(0, most - 1)}…`).toWellFormed()
}
