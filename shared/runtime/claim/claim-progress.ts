import { limitName, limitValue } from '../../core/limits/limits.ts'
import type { Line } from '../../core/limits/line.ts'
import { orderOf, readyPlaceOf } from '../../core/place/place.ts'
import type { ClaimJudgement } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import { type Task, typeOfLimit } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { ReadEnd } from './candidates.ts'
import type { NotClaimed } from './claim.ts'
import type { Claimed } from './claimed-task.ts'

/** Which limits and pauses have refused tasks in one call that claims many. The call does not ask them again for each further task. */
type HeldBack = {
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

const NOTHING_HELD_BACK: HeldBack = {
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
function withRefusal(
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

/** What one call that claims many tasks has done so far. The functions return the progress after one more step. */
export type Progress = {
  /** The claims, each with the position that its task had in the ready place. */
  readonly claims: ReadonlyArray<{ readonly claimed: Claimed; readonly order: string }>
  readonly heldBack: HeldBack
  /** The first waiting task that is not claimed now, for example because a limit holds it back. */
  readonly passedOver: Task | undefined
  /** Tasks that were not tried because a limit is known to be used up, up to a number. */
  readonly behindLimits: readonly Task[]
  /** How many candidates were examined, by weight. */
  readonly examined: number
  /** Whether the call ends now: the answer is full, or the store failed. */
  readonly isOver: boolean
}

export const NOTHING_DONE: Progress = {
  claims: [],
  heldBack: NOTHING_HELD_BACK,
  passedOver: undefined,
  behindLimits: [],
  examined: 0,
  isOver: false,
}

/**
 * What the call does with a candidate.
 *
 * - `try`            it tries to claim the task
 * - `held-back`      a limit or a pause is known to hold it back
 * - `not-claimable`  its head allows this claimer no claim
 * - `at-fault`       this process recently failed to write it
 */
export type Verdict =
  | { readonly kind: 'try'; readonly judged: ClaimJudgement }
  | { readonly kind: 'held-back' | 'not-claimable' | 'at-fault' }

/** One call examines at most this many candidates. The tasks at the front may all be claimed already, or meant for other workers. */
const EXAMINED_MAX = 1_000
/** A candidate that a limit or a pause is known to hold back counts as this share of one: claimable ones may follow it. */
const HELD_BACK_WEIGHT = 1 / 4

/** A call remembers this many of the tasks that limits hold back. */
const BEHIND_LIMITS_MAX = 100

/** How many of the wanted tasks are still to be claimed. */
export function leftOf(scope: ClaimScope, wanted: number, { claims, heldBack }: Progress): number {
  if (isAllHeldBack(heldBack, scope.types)) return 0
  return wanted - claims.length - (scope.isForTickets ? heldBack.waiting : 0)
}

/** Whether the call reads more ready tasks. If not, only its targets are left. */
export function mayReadMore({ types }: ClaimScope, { examined, heldBack }: Progress): boolean {
  return examined < EXAMINED_MAX && !isAllHeldBack(heldBack, types)
}

/** How the call's reads ended when no candidate was left. A used-up limit that holds all tasks back ends the call anywhere. */
export function readEndOf({ types }: ClaimScope, { examined, heldBack }: Progress): ReadEnd {
  if (isAllHeldBack(heldBack, types)) return 'otherwise'
  return examined < EXAMINED_MAX ? 'at-end' : 'examined-all-it-may'
}

export function withVerdict(scope: ClaimScope, progress: Progress, task: Task, verdict: Verdict): Progress {
  const weight = verdict.kind === 'held-back' ? HELD_BACK_WEIGHT : 1
  const isBehindLimit = verdict.kind === 'held-back' && progress.behindLimits.length < BEHIND_LIMITS_MAX
  const behindLimits = isBehindLimit ? [...progress.behindLimits, task] : progress.behindLimits
  const counted = { ...progress, behindLimits, examined: progress.examined + weight }
  const isPassedOver = verdict.kind === 'held-back' || verdict.kind === 'not-claimable'
  return isPassedOver ? passingOver(scope, counted, task) : counted
}

/** The progress after the claim of one task: claimed or refused. */
export function withAnswer(
  scope: ClaimScope,
  progress: Progress,
  task: Task,
  answer: Claimed | NotClaimed,
): Progress {
  if ('run' in answer) {
    return { ...progress, claims: [...progress.claims, { claimed: answer, order: orderOf(task) }] }
  }
  const refused = { ...progress, heldBack: withRefusal(progress.heldBack, task, answer, scope) }
  const isByLimit = answer.refused === 'rate-limit' || answer.refused === 'concurrency-limit'
  return isByLimit ? passingOver(scope, refused, task) : refused
}

/** Remembers the first task that is passed over. A task that no longer waits does not count: an index may still show it. */
function passingOver({ types }: ClaimScope, progress: Progress, task: Task): Progress {
  const isWaiting = task.place?.name === readyPlaceOf(task)
  if (progress.passedOver || !isWaiting || !isInOrder(types)) return progress
  return { ...progress, passedOver: task }
}

/** Whether the ready tasks come in the order of one type. Several types alternate instead. */
export function isInOrder(types: ClaimScope['types']): boolean {
  return types.length === 1
}
