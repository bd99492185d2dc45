import { orderOf, readyPlaceOf } from '../../core/place/place.ts'
import type { ClaimJudgement } from '../../core/run/claim.ts'
import type { Task } from '../../core/task/task.ts'
import type { Claimed, NotClaimed } from './claim.ts'
import type { ReadEnd } from './continued-reads.ts'
import { type ClaimScope, type HeldBack, isAllHeldBack, NOTHING_HELD_BACK, withRefusal } from './held-back.ts'

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

/**
 * One call examines at most this many candidates. The tasks at the front may all be claimed already, or meant for other
 * workers.
 */
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
