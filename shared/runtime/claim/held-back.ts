import { concurrencyLimitName, limitName, limitValue } from '../../core/limits/limits.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Claimed, NotClaimed } from './claim.ts'

/**
 * Which limits and pauses have refused tasks in one call that claims many. The call does not ask them again for each
 * further task.
 */
export type HeldBack = {
  /** Notes the refusals among the results of `tasks`. */
  note(tasks: readonly Task[], results: readonly PromiseSettledResult<Claimed | NotClaimed>[]): void
  /** Whether a limit that counts the task is known to be used up, or a type of the task is known to be paused. */
  isKnown(task: Task): boolean
  /** Whether the call claims for one type only, and a limit of all its tasks is known to be used up. */
  isAll(): boolean
  /** How many tasks this call made wait for a limit: for a permit, or, if a ticket named them, for a slot. */
  waiting(): number
  /** When a rate limit that refused a start may allow one. Infinity when no such time is known. */
  nextStart(): number
}

/**
 * For a call that claims tasks of these types. `targets` are the tasks that wait for slots of their own.
 *
 * `isSent` says that the call serves tickets. Then each task that lacks a permit must be tried, so that it is written down
 * as waiting. Without tickets the caller asks for all tasks again, and the tasks behind a used-up limit are skipped.
 */
export function heldBackBy(
  types: readonly TaskType[],
  targets: readonly Task[],
  { isSent }: { readonly isSent: boolean },
): HeldBack {
  const named = new Set(targets.map(({ id }) => id))
  const usedUp = { rate: new Set<string>(), concurrency: new Set<string>() }
  const paused = new Set<string>()
  let waiting = 0
  let nextStart = Number.POSITIVE_INFINITY
  const noteOne = (task: Task, { refused, limit = '', notBefore = Number.POSITIVE_INFINITY }: NotClaimed) => {
    nextStart = Math.min(nextStart, notBefore)
    if (refused === 'paused') paused.add(typesOf(task))
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
      paused.has(typesOf(task)) ||
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

/** Whether the name is among the limits. An unknown limit has no name. */
function hasName(limits: ReadonlySet<string>, name: string | undefined): boolean {
  return name !== undefined && limits.has(name)
}

/** Names the two types that may be paused: the task's own type, and the type that does its present step. */
function typesOf(task: Task): string {
  return `${task.type} ${workOf(task).type}`
}

function isForAll({ type, configuration }: TaskType, kind: Kind, usedUp: ReadonlySet<string>): boolean {
  const limit = configuration.limits?.[kind]
  return limit !== undefined && limit.key === undefined && usedUp.has(limitName(type, undefined))
}

/** The name under which a limit counts the task, for the type that does it. Undefined when the head does not show it. */
function limitOf(types: readonly TaskType[], task: Task, kind: Kind): string | undefined {
  const { type } = workOf(task)
  const limit = types.find(one => one.type === type)?.configuration.limits?.[kind]
  if (!limit) return undefined
  if (limit.key === undefined) return limitName(type, undefined)
  const found = limitValue(task, limit.key)
  if (!found.known) return undefined
  return kind === 'rate' ? limitName(type, found.value) : concurrencyLimitName(type, limit.key, found.value)
}
