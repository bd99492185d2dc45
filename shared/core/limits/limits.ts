/**
 * The rules of rate limits and concurrency limits; `runtime/limits/limits.ts` explains how claims obey them. A limit may count by a
 * key: by owner, by tenant, or by a field of the input. Each value of the key then has a limit of its own.
 *
 * This file names limits, and finds the value by which a limit counts a task. Read on in this order:
 *
 * - `slots.ts` keeps the log of a rate limit and decides how slots are reserved in it
 * - `start.ts` decides when a claim starts in its slots
 * - `held-permits.ts` knows the permits of a concurrency limit and their holders
 * - `line.ts` decides about the line of the tasks that a limit holds back, and about looks at it
 * - `wait.ts` begins and ends the wait of a task in a line
 */

import { actionOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'
import { hash32 } from '../values/hash.ts'
import type { Json } from '../values/json.ts'

/** Characters of a value in a limit's name. A longer value is named by its hash, because heads store the names of limits. */
const VALUE_CHARACTERS_MAX = 40
/** A character that keys of the table, messages and log lines do not show as it is. */
const ODD_CHARACTER = /[\p{Cc}\p{Cs}\p{Cn}]/u

/** A limit, and the name under which it counts a given task. A limit with a key has one name for each value of the key. */
export type NamedLimit<Limit> = { readonly name: string; readonly limit: Limit }

/**
 * The name of a type's limit. Only a limit that counts all tasks of a type has the type's name. With a key, each value has a limit of its
 * own, and all tasks without a value share one.
 */
export function limitName(type: string, key?: string, value?: string): string {
  return key === undefined ? type : `${type}=${value ?? ''}`
}

/** The value by which a limit counts a task. All tasks whose `value` is undefined share one limit. */
export type LimitValue =
  | { readonly known: true; readonly value: string | undefined }
  | { readonly known: false }

/**
 * The value by which a limit with this `key` counts the task: its owner, its fairness key, or a field of its input. A value is not
 * known when its input is stored apart from the head and the head has no copy of the value.
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

/** The copies that the head gets of values in an input that is stored apart. A claimer needs them and does not read that input. */
export function limitValuesOf(task: Task, input: Json | undefined, fields: readonly string[]): Partial<Task> {
  if (!task.input || 'inline' in task.input || fields.length === 0) return {}
  return { limitValues: Object.fromEntries(fields.map(field => [field, fieldValue(input, field) ?? null])) }
}

/** The shortened value of a field of an input. Only texts, numbers and booleans are values. */
export function fieldValue(input: Json | undefined, field: string): string | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return undefined
  if (!Object.hasOwn(input, field)) return undefined
  const value = (input as Record<string, Json>)[field]
  return typeof value === 'object' || value === undefined ? undefined : shortened(String(value))
}

/**
 * A value as names of limits hold it. The result is legal in a key of the table for any text. Different values get different names,
 * as far as a hash of 64 bits tells them apart.
 */
function shortened(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (value.length <= VALUE_CHARACTERS_MAX && !ODD_CHARACTER.test(value)) return value
  const digest = ['a', 'b'].map(salt => hash32(`${salt}${value}`).toString(36)).join('')
  const shown = value.slice(0, VALUE_CHARACTERS_MAX - digest.length - 1).toWellFormed()
  return `${shown.replace(new RegExp(ODD_CHARACTER, 'gu'), '\ufffd')}~${digest}`
}
