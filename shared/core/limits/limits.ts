/**
 * The rules of rate limits and concurrency limits; `runtime/limits/limits.ts` explains how claims obey them. A limit may count by a
 * key: by owner, by tenant, or by a field of the input. Each value of the key then has a limit of its own.
 *
 * This file names limits, finds the value by which a limit counts a task, knows the permits of a concurrency limit and their
 * holders, and begins and ends the wait of a task in a line. Read on in this order:
 *
 * - `slots.ts` keeps the log of a rate limit, decides how slots are reserved in it, and when a claim starts in its slots
 * - `line.ts` decides about the line of the tasks that a limit holds back, and about looks at it
 */

import { type Decision, refuse, revise } from '../change.ts'
import { actionOf } from '../task/piece.ts'
import { liveRuns, type Task, type Wait, workersWanted } from '../task/task.ts'
import { digestOf } from '../values/text.ts'
import { isJsonObject, type Json } from '../values/values.ts'

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
type LimitValue = { readonly known: true; readonly value: string | undefined } | { readonly known: false }

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
  const value = isJsonObject(input) && Object.hasOwn(input, field) ? input[field] : undefined
  return typeof value === 'object' || value === undefined ? undefined : shortened(String(value))
}

/**
 * A value as names of limits hold it. The result is legal in a key of the table for any text. Different values get different names,
 * as far as a hash of 64 bits distinguishes them.
 */
function shortened(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (value.length <= VALUE_CHARACTERS_MAX && !ODD_CHARACTER.test(value)) return value
  const digest = digestOf(value, ['a', 'b'])
  const shown = value.slice(0, VALUE_CHARACTERS_MAX - digest.length - 1).toWellFormed()
  return `${shown.replace(new RegExp(ODD_CHARACTER, 'gu'), '\ufffd')}~${digest}`
}

/** After this time a recorded holder has claimed its task, or it never will. It is then stale (`mayBeStale`). */
const HOLDER_CLAIM_MS = 10_000
/**
 * No process takes a holder for stale that was recorded less than this time ago, because clocks differ by less than the 5 s up to
 * `HOLDER_CLAIM_MS`.
 */
export const FRESH_HOLDER_MS = 5_000
/**
 * The permits of a limit are stored in shards of at most this many holders. With ids of up to 85 characters each write of a shard
 * costs one write unit. One shard allows 500 starts a second, since a partition of a table serves 1,000 write units a second.
 */
export const SHARD_PERMITS_MAX = 8
const HOLDER_CHARACTERS = 10

/** The shards of a limit of `max` permits. */
export function shardsOf(max: number): number[] {
  return Array.from({ length: Math.ceil(max / SHARD_PERMITS_MAX) }, (_, shard) => shard)
}

/**
 * The permits of one shard. No shard has fewer permits when `max` is larger. So claims that obey different values of `max`, while
 * it changes, together never hold more permits than the largest of these values.
 */
export function permitsIn(shard: number, max: number): number {
  return Math.min(SHARD_PERMITS_MAX, Math.max(0, max - shard * SHARD_PERMITS_MAX))
}

/** The free permits of these shards, of which `holders` hold permits. */
export function freePermitsIn(shards: readonly number[], max: number, holders: readonly Holder[]): number {
  const held = heldByShard(holders)
  return shards.reduce((sum, shard) => sum + Math.max(0, permitsIn(shard, max) - (held.get(shard) ?? 0)), 0)
}

/** How many of the holders are in each shard. */
export function heldByShard(holders: readonly Holder[]): ReadonlyMap<number, number> {
  const held = new Map<number, number>()
  for (const shard of holders.map(({ holder }) => shardOf(holder)))
    held.set(shard, (held.get(shard) ?? 0) + 1)
  return held
}

/** The id of a holder in a shard: random characters, followed by the number of the shard unless it is 0. */
export function holderIn(shard: number, random: string): string {
  return random.slice(-HOLDER_CHARACTERS) + (shard || '')
}

/** The shard that stores a holder. */
export function shardOf(holder: string): number {
  return Number(holder.slice(HOLDER_CHARACTERS)) || 0
}

/** A permit that a run gave back: its limit and shard. The next claim under the limit tries this shard first. */
export type FreedPermit = { readonly limit: string; readonly shard: number }

/** The holder of a permit: its id, the task whose run holds the permit, and the time of its record. */
export type Holder = { readonly holder: string; readonly taskId: string; readonly since: number }

/** The holders of permits that are recorded in some shards of a concurrency limit. */
export type HeldPermits = { readonly holders: readonly Holder[] }

/** Whether a holder is old enough to be removed if its task has no run with the permit. */
export function mayBeStale({ since }: Holder, now: number): boolean {
  return since + HOLDER_CLAIM_MS <= now
}

/**
 * Whether a worker holds a permit for a run of the task that may begin soon and that the head does not show yet. A holder that is
 * older than the head's last change does not count: its run has ended, or its claim will be refused.
 */
export function isBeingClaimed(task: Task, { holders }: HeldPermits, now: number): boolean {
  const begun = new Set(liveRuns(task).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
  const mayBegin = ({ holder, since }: Holder) => since >= task.updatedAt && !begun.has(holder)
  return holders.some(holder => holder.taskId === task.id && mayBegin(holder) && !mayBeStale(holder, now))
}

/** Why a task does not begin to wait. `running`: it wants no more workers. */
export type WaitRefusal = 'finished' | 'running' | 'not-due' | 'waits-already'

/** Makes the task join the line of a limit: it waits for a slot, or for a permit. */
export function joinLine(task: Task, line: Wait, now: number): Decision<WaitRefusal> {
  if (task.state !== 'open') return refuse('finished')
  if (workersWanted(task) === 0) return refuse('running')
  if (task.dueAt > now) return refuse('not-due')
  if (isInLine(task, line)) return refuse('waits-already')
  const { kind, limit } = line
  const operation = kind === 'slot' ? 'throttle' : 'block'
  return revise(task, { ...task, operation, wait: { kind, limit } }, now)
}

export function isInLine({ wait }: Pick<Task, 'wait'>, { kind, limit }: Wait): boolean {
  return wait?.kind === kind && wait.limit === limit
}

/** Ends the wait of the task, which then returns to its ready place or is dispatched again. */
export function endWait(task: Task, now: number): Decision<'finished' | 'waits-not'> {
  if (task.state !== 'open') return refuse('finished')
  return task.wait ? revise(task, { ...task, operation: 'surface' }, now) : refuse('waits-not')
}
