import { CLAIM_PATIENCE_MS } from '../../core/bounds.ts'
import { fairLineOf, tenantOf, turnAt } from '../../core/place/claim-order.ts'
import { orderOf } from '../../core/place/place.ts'
import type { Claimer, ClaimJudgement } from '../../core/run/claim.ts'
import { EMPTY_ANSWER, isTooLarge, judgeClaim, withTask, wouldWrite } from '../../core/run/claim.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { compareTexts } from '../../core/values/values.ts'
import { isKnownFault, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { holdBack } from '../limits/line.ts'
import type { SlotUse } from '../limits/start.ts'
import { noteFront } from '../place/fair.ts'
import { type ReadyTasks, readyTasks } from '../place/ready.ts'
import type { AttemptSize, Candidates, ReadEnd } from './candidates.ts'
import {
  continuedAt,
  createCandidates,
  firstAttempt,
  nextAttempt,
  rememberRead,
  scatteredAttempt,
} from './candidates.ts'
import { claimTask } from './claim.ts'
import type { ClaimScope, Progress, Verdict } from './claim-progress.ts'
import {
  isAllHeldBack,
  isHeldBack,
  isInOrder,
  leftOf,
  lineHolding,
  mayReadMore,
  NOTHING_DONE,
  readEndOf,
  withAnswer,
  withVerdict,
} from './claim-progress.ts'
import type { Claimed } from './claimed-task.ts'

const PAGE_ENTRIES_MAX = 100
/**
 * At least this many heads are read at a time, even if fewer are wanted, since some are meant for other workers. Index
 * pages hold as many, so that one round of queries is enough. A smaller page would cost the same half read unit.
 */
const READ_HEADS_MIN = 10

/** What a caller of `claimReady` asks for. */
export type Wanted = {
  readonly wanted: number
  /** Tasks for this claimer that the ready places may not show: targeted ones, and the tasks of tickets. */
  readonly targets?: readonly Task[]
  /**
   * How starts use slots under rate limits. With `isBest` the call serves tickets: a task that waits for a limit counts as one of the
   * wanted tasks. @default `only-free-slot`
   */
  readonly slotUse?: SlotUse
  /** From this time of the system's clock on, no more tasks are tried. @default no such time, and each claim has 8 s */
  readonly until?: number
}

export type ClaimResult = {
  readonly claimed: Claimed[]
  /** How many of the wanted tasks are not claimed because a limit holds tasks back. */
  readonly waiting: number
  /** When a slot of a rate limit that refused a start may be free, by the system's clock. Infinity when no such time is known. */
  readonly nextSlotAt: number
}

/** What one call of `claimReady` works with. */
type Call = ClaimScope & {
  readonly claimer: Claimer
  readonly wanted: number
  readonly slotUse: SlotUse
  readonly until: number | undefined
  readonly candidates: Candidates
  readonly position: ReadyTasks['position']
}

/**
 * Claims up to `wanted` ready tasks and `targets` in their type's order. Ends early when one answer might not hold more.
 * It passes over tasks that limits hold back.
 *
 * When an attempt loses many claims to other processes, the next attempts choose at random from a window of the first
 * tasks: see `candidates.ts`. A later call may return tasks that belong before tasks of an earlier call, but no call
 * passes over more than 500. Within one result the tasks are in order.
 */
export async function claimReady(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  asked: Wanted,
): Promise<ClaimResult> {
  const call = callOf(system, types, claimer, asked)
  let progress = NOTHING_DONE
  let next = firstOf(call)
  let end: ReadEnd = 'otherwise'
  for (;;) {
    const left = leftOf(call, call.wanted, progress)
    if (left <= 0 || progress.isOver || !isInTime(system, call)) break
    const choice = await choose(system, call, progress, Math.min(next.size, left))
    progress = choice.progress
    if (choice.chosen.length === 0) {
      if (!progress.isOver) end = readEndOf(call, progress)
      break
    }
    const tried = await attempt(system, call, choice)
    progress = tried.progress
    const step = nextAttempt(call.wanted, next, { tried: choice.chosen.length, lost: tried.lost })
    next =
      step.kind === 'same-window'
        ? step
        : scatteredAttempt(call.wanted, step.window, await call.candidates.scatter(step.window))
  }
  if (next.window === 0) {
    rememberRead(system, types, claimer, { end, position: call.position() })
    await noteClaimedFront(system, progress)
  }
  await joinLines(system, call, progress)
  return resultOf(call, progress)
}

function callOf(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  { wanted, targets = [], slotUse = { kind: 'only-free-slot' }, until }: Wanted,
): Call {
  const pageSize = Math.min(PAGE_ENTRIES_MAX, Math.max(READ_HEADS_MIN, wanted + 1))
  const ready = readyTasks(system, types, pageSize, continuedAt(system, types, claimer))
  return {
    ...{ types, claimer, wanted, slotUse, until },
    isForTickets: slotUse.isBest === true,
    candidates: createCandidates(ready, targets, isInOrder(types)),
    position: ready.position,
  }
}

function isInTime({ clock }: System, { until }: Call): boolean {
  return until === undefined || clock.now() < until
}

type Candidate = { readonly task: Task; readonly judged: ClaimJudgement }
type Choice = { readonly chosen: readonly Candidate[]; readonly progress: Progress }

/** The next tasks whose heads allow a claim and whose claims still fit the answer. */
async function choose(system: System, call: Call, before: Progress, most: number): Promise<Choice> {
  const chosen: Candidate[] = []
  let progress = before
  let answer = before.claims.reduce((size, { claimed }) => withTask(size, claimed.task), EMPTY_ANSWER)
  while (chosen.length < most) {
    const toRead = mayReadMore(call, progress) ? Math.max(READ_HEADS_MIN, most - chosen.length) : 0
    const task = await call.candidates.next(toRead)
    if (!task) break
    const verdict = verdictOn(system, call, progress, task)
    progress = withVerdict(call, progress, task, verdict)
    if (verdict.kind !== 'try') continue
    answer = withTask(answer, task)
    // Claims for tickets are not sent in an answer, so they have no bound.
    if (!call.isForTickets && isTooLarge(answer)) return { chosen, progress: { ...progress, isOver: true } }
    chosen.push({ task, judged: verdict.judged })
  }
  return { chosen, progress }
}

function verdictOn(system: System, call: Call, { heldBack }: Progress, task: Task): Verdict {
  if (isKnownFault(system, task)) return { kind: 'at-fault' }
  if (isHeldBack(heldBack, task, call)) return { kind: 'held-back' }
  const judged = judgeClaim(task, call.claimer, system.clock.now())
  return wouldWrite(judged) ? { kind: 'try', judged } : { kind: 'not-claimable' }
}

/**
 * Claims the chosen tasks at the same time and returns how many were lost to other processes. A task that was refused for
 * a reason of its own, such as a passed deadline, does not count as lost. When the store fails for one claim, the other claims are
 * still delivered, since their runs would be lost otherwise.
 */
async function attempt(
  system: System,
  call: Call,
  { chosen, progress: before }: Choice,
): Promise<{ readonly progress: Progress; readonly lost: number }> {
  const { claimer, slotUse, until = system.clock.now() + CLAIM_PATIENCE_MS } = call
  let progress = before
  let lost = 0
  const results = await Promise.allSettled(
    chosen.map(async ({ task, judged }) => {
      const answer = await claimTask(system, task, claimer, { slotUse, patience: { until }, judged })
      return { task, answer }
    }),
  )
  for (const result of results) {
    if (result.status === 'rejected') continue
    const { task, answer } = result.value
    progress = withAnswer(call, progress, task, answer)
    if ('refused' in answer && answer.lostToOthers) lost += 1
  }
  const failure = results.find(result => result.status === 'rejected')
  if (!failure) return { progress, lost }
  if (progress.claims.length === 0) throw failure.reason
  system.log.warn('some tasks were not claimed; the claim ends early', { error: failure.reason })
  return { progress: { ...progress, isOver: true }, lost }
}

/**
 * Notes up to which turn tasks of a tenants' line were claimed. Without the note, tasks that limits hold back would keep
 * the front of the line at their own turns.
 */
async function noteClaimedFront(system: System, { passedOver, claims }: Progress): Promise<void> {
  if (!passedOver || tenantOf(passedOver) === undefined) return
  const line = fairLineOf(passedOver)
  const first = turnAt(line, orderOf(passedOver))
  const turns = claims.flatMap(({ order }) => turnAt(line, order) ?? [])
  if (first === undefined || turns.length === 0) return
  await noteFront(system, line, { passedOver: first, claimed: Math.min(...turns) })
}

/** A call makes at most this many of the tasks that it passed over join the lines of their limits. */
const JOINING_AT_ONCE_MAX = 25

/** Tasks behind a used-up limit with a key join its line. In the ready place, a thousand of them would hide all later tasks. */
async function joinLines(system: System, call: Call, { heldBack, behindLimits }: Progress): Promise<void> {
  const { types, until } = call
  const patience = until === undefined ? undefined : { until }
  await sideBySide(behindLimits, JOINING_AT_ONCE_MAX, async task => {
    const line = lineHolding(heldBack, task, types)
    if (!line) return
    const grantAt = Number.isFinite(heldBack.nextSlotAt) ? heldBack.nextSlotAt : undefined
    await holdBack(system, task, line, { grantAt, patience }).catch(error => {
      system.log.debug('a task did not join the line of its limit', { taskId: task.id, error })
    })
  })
}

/** Claims for tickets may wait for their slots, so they are made at one time. */
function firstOf({ types, wanted, isForTickets }: Call): AttemptSize {
  const mayWait = isForTickets && types.some(({ configuration }) => configuration.limits?.rate)
  return mayWait ? { size: wanted, window: 0 } : firstAttempt(wanted)
}

function resultOf({ types, wanted, isForTickets }: Call, { claims, heldBack }: Progress): ClaimResult {
  const inOrder = isInOrder(types) ? claims.toSorted((a, b) => compareTexts(a.order, b.order)) : claims
  const { nextSlotAt } = heldBack
  const waiting = isForTickets && isAllHeldBack(heldBack, types) ? wanted - claims.length : heldBack.waiting
  return { claimed: inOrder.map(({ claimed }) => claimed), waiting, nextSlotAt }
}
