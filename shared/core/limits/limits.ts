/**
 * A type may limit how many of its runs start in a period (a rate limit) and how many run at a time (a concurrency limit). Both
 * may count by a field: by owner, by tenant, or by a field of the input. Each value of that field then has a limit of its own.
 *
 * This file names limits, and finds the value by which a limit counts a task. `starts.ts` keeps the log of a rate limit,
 * `held-permits.ts` the permits of a concurrency limit. `wait.ts` has the changes of a task that a limit keeps from running.
 */

import { hash32 } from '../hash.ts'
import type { Json } from '../json.ts'
import { actionOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'

/** Longer values are named by their hash: names of limits stand in heads. */
const MAX_VALUE_LENGTH = 40
/** What no key of the table, no message and no log line shows as it is. */
const ODD_CHARACTER = /[\p{Cc}\p{Cs}\p{Cn}]/u

/** A limit that counts tasks by themselves: that of a type, for one value of the field that it names. */
export function limitName(type: string, value: string | undefined): string {
  return value === undefined ? type : `${type}=${value}`
}

/**
 * A concurrency limit that counts by no field is named as its type is, one that counts by a field never: who waits for a limit
 * for all may stay among the others, who wait as well.
 */
export function concurrencyLimitName(
  type: string,
  key: string | undefined,
  value: string | undefined,
): string {
  return limitName(type, key === undefined ? undefined : (value ?? ''))
}

/** The type of a limit's name; types have no `=`. */
export function typeOfLimit(name: string): string {
  return name.split('=', 1)[0] ?? name
}

/** The value of a field by which a limit counts a task; undefined: it has none, and shares the limit of all such. */
export type LimitValue =
  | { readonly known: true; readonly value: string | undefined }
  | { readonly known: false }

/**
 * By which value a limit with this `key` counts the task: its owner, its fairness key, or a field of its input. What is
 * not known stands in an input that is kept apart.
 */
export function limitValue(task: Task, key: string): LimitValue {
  if (key === 'userId') return { known: true, value: shortened(task.userId) }
  if (key === 'fairnessKey') return { known: true, value: shortened(task.fairnessKey) }
  const given = actionOf(task)?.input
  if (given !== undefined) return { known: true, value: fieldValue(given, key) }
  if (!task.input) return { known: true, value: undefined }
  if ('inline' in task.input) return { known: true, value: fieldValue(task.input.inline, key) }
  const values = task.limitValues
  return values && Object.hasOwn(values, key)
    ? { known: true, value: values[key] ?? undefined }
    : { known: false }
}

/** Whoever claims must know them, and an input kept apart is not at hand then. */
export function limitValuesOf(task: Task, input: Json | undefined, fields: readonly string[]): Partial<Task> {
  if (!task.input || 'inline' in task.input || fields.length === 0) return {}
  return { limitValues: Object.fromEntries(fields.map(field => [field, fieldValue(input, field) ?? null])) }
}

/** The value of a field of an input, short. Only texts, numbers and booleans are values. */
export function fieldValue(input: Json | undefined, field: string): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  if (!Object.hasOwn(input, field)) return undefined
  const value = (input as Record<string, Json>)[field]
  return typeof value === 'object' || value === undefined ? undefined : shortened(String(value))
}

/**
 * A value as names of limits hold it: any text makes a name that the table takes as a key. Values that differ have names that
 * differ, as far as a hash of 64 bits tells.
 */
function shortened(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (value.length <= MAX_VALUE_LENGTH && !ODD_CHARACTER.test(value)) return value
  const digest = ['a', 'b'].map(salt => hash32(`${salt}${value}`).toString(36)).join('')
  const shown = value.slice(0, MAX_VALUE_LENGTH - digest.length - 1).toWellFormed()
  return `${shown.replace(new RegExp(ODD_CHARACTER, 'gu'), '\ufffd')}~${digest}`
}
