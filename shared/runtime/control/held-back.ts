import { limitName, limitValue } from '../../core/control/limit-names.ts'
import type { Task } from '../../core/task.ts'
import type { TaskType } from '../../core/task-type.ts'
import { workOf } from '../../core/work.ts'
import type { Claimed, NotClaimed } from '../claim-task.ts'

/** What limits have held back in one call that claims many, so that it does not ask for each task anew. */
export type HeldBack = {
  note(tasks: readonly Task[], results: readonly PromiseSettledResult<Claimed | NotClaimed>[]): void
  /** Whether the rate limit that counts the task is known to allow no start now. */
  isKnown(task: Task): boolean
  /** Whether that holds for all tasks of the only type. */
  isAll(): boolean
  /** How many tasks wait for a limit since this call: for a permit, or, of those that it was sent for, for a turn. */
  waiting(): number
}

export function heldBackBy(types: readonly TaskType[], sentFor: readonly Task[]): HeldBack {
  const named = new Set(sentFor.map(({ id }) => id))
  const spent = new Set<string>()
  let waiting = 0
  const noteOne = (task: Task, { refused }: NotClaimed) => {
    const isThrottled = refused === 'rate-limit' && named.has(task.id)
    if (isThrottled || refused === 'concurrency-limit') waiting += 1
    const rate = refused === 'rate-limit' ? rateOf(types, task) : undefined
    if (rate !== undefined) spent.add(rate)
  }
  return {
    note: (tasks, results) => {
      for (const [nth, result] of results.entries()) {
        const task = tasks[nth]
        if (task && result.status === 'fulfilled' && 'refused' in result.value) noteOne(task, result.value)
      }
    },
    isKnown: task => !named.has(task.id) && spent.has(rateOf(types, task) ?? ''),
    isAll: () => types.length === 1 && spent.has(types[0]?.type ?? ''),
    waiting: () => waiting,
  }
}

/** The name of the rate limit of the type that does the task, as far as the head tells. */
function rateOf(types: readonly TaskType[], task: Task): string | undefined {
  const { type } = workOf(task)
  const rate = types.find(one => one.type === type)?.configuration.limits?.rate
  if (!rate) return undefined
  if (rate.key === undefined) return limitName(type, undefined)
  const found = limitValue(task, rate.key)
  return found.known ? limitName(type, found.value) : undefined
}
