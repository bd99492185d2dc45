/**
 * Limits of a type say how many of its tasks may start in a time (rate) and run at one time (concurrency), for all of
 * them or for each value of a key. A rate limit grants each start a reserved time; a concurrency limit has permit
 * holders in one item. This room admits claims under the limits, lets tasks wait, admits them when a permit comes
 * free, and repairs what lost messages leave.
 *
 * This file says which limits and pauses apply to a task.
 */
import { concurrencyLimitName, fieldValue, limitName, limitValue } from '../../core/limits/limits.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { ConcurrencyLimit, RateLimit, TaskType, TypeLimits } from '../../core/types/task-type.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import { isWithin, type Moment } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { cachedType, TYPE_CACHE_MS } from '../types/type-cache.ts'

/** A claim whose run has not begun so long after it could have read an older type asks again: see `PAUSE_ACK_MS`. */
const MAX_CLAIM_MS = 400

/** What of the types of a task says whether it may run now. */
export type LimitRules = {
  readonly isPaused: boolean
  readonly rates: readonly NamedLimit<RateLimit>[]
  readonly concurrencies: readonly NamedLimit<ConcurrencyLimit>[]
  /** When each of the types was read, or before. */
  readonly readAt: readonly Moment[]
}

/** A limit by the name under which it counts this very task. */
export type NamedLimit<Limit> = { readonly name: string; readonly limit: Limit }

/**
 * The terms of the task's own type and, of a flow, of the type that does its present step, as they were within the last
 * second.
 */
export async function limitRulesOf(system: System, task: Task): Promise<LimitRules> {
  const names = new Set([task.type, workOf(task).type])
  const known = await Promise.all([...names].map(name => cachedType(system, name)))
  const types = known.flatMap(({ value }) => value ?? [])
  return {
    isPaused: types.some(({ paused }) => paused),
    rates: await limitedBy(system, task, types, {
      pick: ({ rate }) => rate,
      nameOf: (type, _key, value) => limitName(type, value),
    }),
    concurrencies: await limitedBy(system, task, types, {
      pick: ({ concurrency }) => concurrency,
      nameOf: concurrencyLimitName,
    }),
    readAt: known.map(({ readAt }) => readAt),
  }
}

/** Whether no pause can have been acknowledged that these terms do not heed. */
export function areRulesFresh(
  { clock }: Pick<System, 'clock'>,
  { readAt }: Pick<LimitRules, 'readAt'>,
): boolean {
  return readAt.every(moment => isWithin(clock, moment, TYPE_CACHE_MS + MAX_CLAIM_MS))
}

async function limitedBy<Limit extends { readonly key?: string }>(
  system: System,
  task: Task,
  types: readonly TaskType[],
  { pick, nameOf }: { pick(limits: TypeLimits): Limit | undefined; nameOf: typeof concurrencyLimitName },
): Promise<NamedLimit<Limit>[]> {
  const limited = types.map(async ({ type, configuration: { limits = {} } }) => {
    const limit = pick(limits)
    if (!limit) return []
    const value = limit.key === undefined ? undefined : await valueIn(system, task, limit.key)
    return [{ name: nameOf(type, limit.key, value), limit }]
  })
  return (await Promise.all(limited)).flat()
}

/** Read from the input itself only where the limit has been set since the task was published. */
async function valueIn(system: System, task: Task, key: string): Promise<string | undefined> {
  const found = limitValue(task, key)
  if (found.known || !task.input) return found.known ? found.value : undefined
  return fieldValue(await bodyValue(system, task.id, task.input), key)
}
