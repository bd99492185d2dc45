import { limitName, limitValue } from '../../core/limits/limits.ts'
import type { Line } from '../../core/limits/line.ts'
import { workOf } from '../../core/task/piece.ts'
import { type Task, typeOfLimit } from '../../core/task/task.ts'
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
  /** How many tried tasks wait for a limit. */
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

/** What a call claims for: its types, and whether it serves tickets. */
export type ClaimScope = {
  readonly types: readonly TaskType[]
  /**
   * Whether the call serves tickets. Then each task behind a used-up limit with a key is tried, so that it joins the line. Without
   * tickets, these tasks are skipped, and join the line at the end of the call.
   */
  readonly isForTickets: boolean
}

/** What is known after the claim of a task was refused. */
export function withRefusal(
  known: HeldBack,
  task: Task,
  { refused, limit = '', notBefore = Number.POSITIVE_INFINITY }: NotClaimed,
  { isForTickets }: Pick<ClaimScope, 'isForTickets'>,
): HeldBack {
  const { usedUp, waiting, nextSlotAt } = known
  if (refused === 'paused') return { ...known, paused: new Set([...known.paused, typesOf(task)]) }
  if (refused !== 'rate-limit' && refused !== 'concurrency-limit') return known
  const kind = refused === 'rate-limit' ? 'rate' : 'concurrency'
  const isSkipped = !isForTickets || typeOfLimit(limit) === limit
  return {
    ...known,
    usedUp: isSkipped ? { ...usedUp, [kind]: new Set([...usedUp[kind], limit]) } : usedUp,
    waiting: waiting + 1,
    nextSlotAt: Math.min(nextSlotAt, notBefore),
  }
}

/** Whether a limit that counts the task is known to be used up, or a type of the task is known to be paused. */
export function isHeldBack(known: HeldBack, task: Task, { types }: Pick<ClaimScope, 'types'>): boolean {
  return known.paused.has(typesOf(task)) || lineHolding(known, task, types) !== undefined
}

/** The line of a limit that counts the task and is known to be used up. */
export function lineHolding({ usedUp }: HeldBack, task: Task, types: readonly TaskType[]): Line | undefined {
  const [rate, concurrency] = [limitOf(types, task, 'rate'), limitOf(types, task, 'concurrency')]
  if (concurrency !== undefined && usedUp.concurrency.has(concurrency))
    return { kind: 'permit', limit: concurrency }
  return rate !== undefined && usedUp.rate.has(rate) ? { kind: 'slot', limit: rate } : undefined
}

/** Whether the call claims for one type only, and a limit of all its tasks is known to be used up. */
export function isAllHeldBack({ usedUp }: HeldBack, [only, ...others]: readonly TaskType[]): boolean {
  if (!only || others.length > 0) return false
  return isForAll(only, 'rate', usedUp.rate) || isForAll(only, 'concurrency', usedUp.concurrency)
}

/** Names the two types that may be paused: the task's own type, and the type that does its present step. */
function typesOf(task: Task): string {
  return `${task.type} ${workOf(task).type}`
}

function isForAll({ type, configuration }: TaskType, kind: Kind, usedUp: ReadonlySet<string>): boolean {
  const limit = configuration.limits?.[kind]
  return limit !== undefined && limit.key === undefined && usedUp.has(limitName(type))
}

/** The name under which a limit counts the task, for the type that does it. Undefined when the head does not show it. */
function limitOf(types: readonly TaskType[], task: Task, kind: Kind): string | undefined {
  const { type } = workOf(task)
  const limit = types.find(one => one.type === type)?.configuration.limits?.[kind]
  if (!limit) return undefined
  if (limit.key === undefined) return limitName(type)
  const found = limitValue(task, limit.key)
  return found.known ? limitName(type, limit.key, found.value) : undefined
}
