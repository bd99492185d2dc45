import { concurrencyLimitName, limitName, limitValue } from '../../core/limits/limits.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { NotClaimed } from './claim.ts'

/**
 * Which limits and pauses have refused tasks in one call that claims many. The call does not ask them again for each
 * further task.
 */
export type HeldBack = {
  /** The names of the limits that are used up. */
  readonly usedUp: Readonly<Record<Kind, ReadonlySet<string>>>
  /** The types that are paused, as `typesOf` names them. */
  readonly paused: ReadonlySet<string>
  /** How many tasks this call made wait for a limit: for a permit, or, if its caller gave them, for a slot. */
  readonly waiting: number
  /** When a slot of a rate limit that refused a start may be free, by the system's clock. Infinity when no such time is known. */
  readonly nextSlotAt: number
}

type Kind = 'rate' | 'concurrency'

export const NOTHING_HELD_BACK: HeldBack = {
  usedUp: { rate: new Set(), concurrency: new Set() },
  paused: new Set(),
  waiting: 0,
  nextSlotAt: Number.POSITIVE_INFINITY,
}

/**
 * What a call claims for: its types, and the ids of the tasks that its caller gave, as targets or by tickets. Each of these tasks
 * may have a slot of its own, so it is tried even when its rate limit is known to be used up.
 */
export type ClaimScope = {
  readonly types: readonly TaskType[]
  readonly named: ReadonlySet<string>
  /**
   * Whether the call serves tickets. Then each task that lacks a permit must be tried, so that it is written down as waiting.
   * Without tickets the caller asks for all tasks again, and the tasks behind a used-up limit are skipped.
   */
  readonly isForTickets: boolean
}

/** What is known after the claim of a task was refused. */
export function withRefusal(
  known: HeldBack,
  task: Task,
  { refused, limit = '', notBefore = Number.POSITIVE_INFINITY }: NotClaimed,
  { named, isForTickets }: Pick<ClaimScope, 'named' | 'isForTickets'>,
): HeldBack {
  const { usedUp, waiting } = known
  switch (refused) {
    case 'paused':
      return { ...known, paused: new Set([...known.paused, typesOf(task)]) }
    case 'rate-limit':
      return {
        ...known,
        usedUp: { ...usedUp, rate: new Set([...usedUp.rate, limit]) },
        waiting: waiting + (named.has(task.id) ? 1 : 0),
        nextSlotAt: Math.min(known.nextSlotAt, notBefore),
      }
    case 'concurrency-limit': {
      const concurrency = isForTickets ? usedUp.concurrency : new Set([...usedUp.concurrency, limit])
      return { ...known, usedUp: { ...usedUp, concurrency }, waiting: waiting + 1 }
    }
    default:
      return known
  }
}

/** Whether a limit that counts the task is known to be used up, or a type of the task is known to be paused. */
export function isHeldBack({ usedUp, paused }: HeldBack, task: Task, { types, named }: ClaimScope): boolean {
  const isUsedUp = (kind: Kind) => hasName(usedUp[kind], limitOf(types, task, kind))
  return paused.has(typesOf(task)) || isUsedUp('concurrency') || (!named.has(task.id) && isUsedUp('rate'))
}

/** Whether the call claims for one type only, and a limit of all its tasks is known to be used up. */
export function isAllHeldBack({ usedUp }: HeldBack, [only, ...others]: readonly TaskType[]): boolean {
  if (!only || others.length > 0) return false
  return isForAll(only, 'rate', usedUp.rate) || isForAll(only, 'concurrency', usedUp.concurrency)
}

/** Whether the limit is among `limits`. A limit that the head does not show has no name. */
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
