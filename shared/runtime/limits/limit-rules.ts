import { fieldValue, limitName, limitValue, type NamedLimit } from '../../core/limits/limits.ts'
import type { Line } from '../../core/limits/line.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { ConcurrencyLimit, RateLimit, TaskType, TypeLimits } from '../../core/types/task-type.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { isWithin, type Moment } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { cachedType, TYPE_CACHE_MS } from '../types/type-cache.ts'

/**
 * A claim reads its types again before its run begins, if they were read longer ago than `TYPE_CACHE_MS` plus this: see
 * `PAUSE_ACK_MS`.
 */
const CLAIM_MS_MAX = 400

/** The limits and the pause that apply to a task, from its types. */
export type LimitRules = {
  readonly isPaused: boolean
  readonly rates: readonly NamedLimit<RateLimit>[]
  readonly concurrencies: readonly NamedLimit<ConcurrencyLimit>[]
  /** For each of the types, a moment not after it was read. */
  readonly readAt: readonly Moment[]
}

/**
 * The rules of the task's own type and, for a flow, of the type that does its present step. They are at most one second
 * old.
 */
export async function limitRulesOf(system: System, task: Task): Promise<LimitRules> {
  const names = new Set([task.type, workOf(task).type])
  const known = await Promise.all([...names].map(name => cachedType(system, name)))
  const types = known.flatMap(({ value }) => value ?? [])
  return {
    isPaused: types.some(({ paused }) => paused),
    rates: await limitedBy(system, task, types, ({ rate }) => rate),
    concurrencies: await limitedBy(system, task, types, ({ concurrency }) => concurrency),
    readAt: known.map(({ readAt }) => readAt),
  }
}

/** Whether any limit counts the task. */
export function isLimited({ rates, concurrencies }: LimitRules): boolean {
  return rates.length + concurrencies.length > 0
}

/** The lines of the limits that count the task. */
export function linesOf({ rates, concurrencies }: LimitRules): Line[] {
  return [
    ...rates.map(({ name }) => ({ kind: 'slot' as const, limit: name })),
    ...concurrencies.map(({ name }) => ({ kind: 'permit' as const, limit: name })),
  ]
}

/** Whether the rules are so fresh that no pause can have been acknowledged since they were read. */
export function areRulesFresh(
  { clock }: Pick<System, 'clock'>,
  { readAt }: Pick<LimitRules, 'readAt'>,
): boolean {
  return readAt.every(moment => isWithin(clock, moment, TYPE_CACHE_MS + CLAIM_MS_MAX))
}

async function limitedBy<Limit extends { readonly key?: string }>(
  system: System,
  task: Task,
  types: readonly TaskType[],
  pick: (limits: TypeLimits) => Limit | undefined,
): Promise<NamedLimit<Limit>[]> {
  const limited = types.map(async ({ type, configuration: { limits = {} } }) => {
    const limit = pick(limits)
    if (!limit) return []
    const value = limit.key === undefined ? undefined : await valueIn(system, task, limit.key)
    return [{ name: limitName(type, limit.key, value), limit }]
  })
  return (await Promise.all(limited)).flat()
}

/** The task's value of a limit's key. It reads the input only when the limit was set after the publish of the task. */
async function valueIn(system: System, task: Task, key: string): Promise<string | undefined> {
  const found = limitValue(task, key)
  if (found.known || !task.input) return found.known ? found.value : undefined
  return fieldValue(await bodyValue(system, task.id, task.input), key)
}
