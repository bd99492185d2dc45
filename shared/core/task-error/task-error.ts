/**
 * An error as a value that can be stored. This file makes such a value from anything that code may throw. `fit-error.ts` cuts it to
 * the size that a record has room for. `redact.ts` hides the fields that a task's definition marks as secret.
 */

import { ERROR_CAUSES_MAX } from '../bounds.ts'
import type { ErrorCause, TaskError } from '../task/error.ts'

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
