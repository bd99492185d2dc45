import { concurrencyLimitName, limitName, limitValue } from '../../core/limits/limits.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Claimed, NotClaimed } from './claim.ts'

/** What limits and pauses have held back in one call that claims many, so that it does not ask for each task anew. */
export type HeldBack = {
  note(tasks: readonly Task[], results: readonly PromiseSettledResult<Claimed | NotClaimed>[]): void
  /** Whether something is known to let the task not begin now: a limit that counts it, or its flow's pause. */
  isKnown(task: Task): boolean
  /** Whether that holds for all tasks of the only type. */
  isAll(): boolean
  /** How many tasks wait for a limit since this call: for a permit, or, of those that it was sent for, for a turn. */
  waiting(): number
  /** When a limit that has held some back may allow a start; Infinity when that is not known of any. */
  nextStart(): number
}

/**
 * For a call that claims tasks of these types. `sentFor`: tasks that were sent, and wait for a turn of their own; where
 * nothing was sent, and all is asked for again, who lacks a permit need not be noted.
 */
export function heldBackBy(
  types: readonly TaskType[],
  sentFor: readonly Task[],
  { isSent }: { readonly isSent: boolean },
): HeldBack {
  const named = new Set(sentFor.map(({ id }) => id))
  const usedUp = { rate: new Set<string>(), concurrency: new Set<string>() }
  const paused = new Set<string>()
  let waiting = 0
  let nextStart = Number.POSITIVE_INFINITY
  const noteOne = (task: Task, { refused, limit = '', notBefore = Number.POSITIVE_INFINITY }: NotClaimed) => {
    nextStart = Math.min(nextStart, notBefore)
    if (refused === 'paused') paused.add(pathOf(task))
    if (refused === 'rate-limit') {
      waiting += named.has(task.id) ? 1 : 0
      usedUp.rate.add(limit)
    }
    if (refused === 'concurrency-limit') {
      waiting += 1
      if (!isSent) usedUp.concurrency.add(limit)
    }
  }
  const isUsedUp = (task: Task, kind: Kind) => hasName(usedUp[kind], limitOf(types, task, kind))
  return {
    note: (tasks, results) => {
      for (const [nth, result] of results.entries()) {
        const task = tasks[nth]
        if (task && result.status === 'fulfilled' && 'refused' in result.value) noteOne(task, result.value)
      }
    },
    isKnown: task =>
      paused.has(pathOf(task)) ||
      isUsedUp(task, 'concurrency') ||
      (!named.has(task.id) && isUsedUp(task, 'rate')),
    isAll: () => {
      const [only, ...others] = types
      return (
        only !== undefined && others.length === 0 && KINDS.some(kind => isForAll(only, kind, usedUp[kind]))
      )
    },
    waiting: () => waiting,
    nextStart: () => nextStart,
  }
}

const KINDS = ['rate', 'concurrency'] as const
type Kind = (typeof KINDS)[number]

/** Limits that are not known have no name. */
function hasName(limits: ReadonlySet<string>, name: string | undefined): boolean {
  return name !== undefined && limits.has(name)
}

/** Both may be paused: whose task it is, and who does its present step. */
function pathOf(task: Task): string {
  return `${task.type} ${workOf(task).type}`
}

function isForAll({ type, configuration }: TaskType, kind: Kind, usedUp: ReadonlySet<string>): boolean {
  const limit = configuration.limits?.[kind]
  return limit !== undefined && limit.key === undefined && usedUp.has(limitName(type, undefined))
}

/** The name of the limit of the type that does the task, as far as the head tells. */
function limitOf(types: readonly TaskType[], task: Task, kind: Kind): string | undefined {
  const { type } = workOf(task)
  const limit = types.find(one => one.type === type)?.configuration.limits?.[kind]
  if (!limit) return undefined
  if (limit.key === undefined) return limitName(type, undefined)
  const found = limitValue(task, limit.key)
  if (!found.known) return undefined
  return kind === 'rate' ? limitName(type, found.value) : concurrencyLimitName(type, limit.key, found.value)
}
