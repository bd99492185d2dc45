import { ANSWER_BYTES_MAX, CLAIM_PATIENCE_MS, CLAIMED_LISTS_BYTES_MAX } from '../../core/bounds.ts'
import { fairLineOf, tenantOf, turnAt } from '../../core/fair/fair.ts'
import { byClaimOrder, orderOf, readyPlaceOf } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { claimBytesMax } from '../../core/run/claim-size.ts'
import { isTargeted, type Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { noteFront } from '../fair/front.ts'
import { isKnownFault } from '../kernel/isolate-faults.ts'
import type { System } from '../kernel/system.ts'
import { type StartPolicy, startAtOnce } from '../limits/start-policy.ts'
import { type ReadyTasks, readyTasks } from '../ready/ready.ts'
import { type Claimed, claimTask, claimWouldWrite, type NotClaimed } from './claim.ts'
import { type HeldBack, heldBackBy } from './held-back.ts'

/**
 * One call examines at most this many candidates. The tasks at the front may all be claimed already, or meant for other
 * workers.
 */
const EXAMINED_MAX = 1_000
/** A candidate that a limit or a pause is known to hold back counts as this share of one: claimable ones may follow it. */
const HELD_BACK_WEIGHT = 1 / 4
const PAGE_ENTRIES_MAX = 100
/**
 * At least this many heads are read at a time, even if fewer are wanted, since some are meant for other workers. Index
 * pages hold as many, so that one round of queries is enough. A smaller page would cost the same half read unit.
 */
const READ_HEADS_MIN = 10
/** The first attempt claims this share of the wanted tasks. It shows whether others claim, too. */
const PROBE_SHARE = 1 / 16
/** While no other process seems to claim, each attempt is this many times as large as the last. */
const GROWTH = 2
/** Once other processes claim, each attempt claims this share of the wanted tasks. */
const SCATTERED_SHARE = 1 / 6
/** Attempts then choose at random from a window, which is this many times what all processes seem to claim together. */
const SPREAD = 4
/** When an attempt loses more than this share of its claims to other processes, the window is doubled. */
const LOST_SHARE_MAX = 0.3
/**
 * The widest window: a claim never passes over more open tasks than this. With this window, 20 clients that claim 50 at a
 * time from 2,000 tasks lose 0.3 writes per task on the local cloud, and 0.45 with simulated latencies of AWS. Narrower
 * windows lose more.
 */
const WINDOW_TASKS_MAX = 500

type Round = {
  readonly types: readonly TaskType[]
  readonly ready: ReadyTasks
  readonly claimer: Claimer
  readonly wanted: number
  /** Whether the ready tasks come in the order of one type. Several types take turns instead. */
  readonly isInOrder: boolean
  readonly startPolicy: StartPolicy
  readonly heldBack: HeldBack
  readonly claimed: Claimed[]
  readonly countsWaiting: boolean
  readonly until: number | undefined
  /** Tasks for this claimer that no ready place shows, in their order, without those moved to `pending`. */
  targets: readonly Task[]
  /** Tasks whose heads were read and that were not tried yet. */
  pending: Task[]
  /** The sort keys of the chosen tasks, by id. The claim removes them from the head. */
  readonly orders: Map<string, string>
  /** The first waiting task that is not claimed now, for example because a limit holds it back. */
  passedOver: Task | undefined
  examined: number
  isOver: boolean
}

export type Wanted = {
  readonly wanted: number
  /** Tasks for this claimer that no ready place shows. */
  readonly targets?: readonly Task[]
  /** How starts get their slots under rate limits. @default `startAtOnce`: only slots that are free now */
  readonly startPolicy?: StartPolicy
  /** Whether a task whose head now records a wait for a limit counts as one of the wanted tasks. */
  readonly countsWaiting?: boolean
  /** By the system's clock: from then on no more tasks are tried. @default for each claim 8 s after it began */
  readonly until?: number
}

export type ClaimResult = {
  readonly claimed: Claimed[]
  /** How many of the tried tasks now wait for a limit, as their heads record. */
  readonly waiting: number
  /** When a rate limit that refused a start may allow one. Infinity when no such time is known. */
  readonly nextStart: number
}

/**
 * Claims up to `wanted` ready tasks and `targets` in their type's order. Ends early when one answer might not hold more.
 * Tasks that limits hold back are passed over.
 *
 * When an attempt loses many claims to other processes, the next attempts choose at random from a window of the first
 * tasks. So many concurrent claimers do not all write to the same tasks. The window holds at most 500 tasks. A later
 * answer may bring tasks that belong before those of an earlier one, but no answer passes over more than 500. Within an
 * answer the tasks are in order.
 */
export async function claimReady(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  { wanted, targets = [], startPolicy = startAtOnce, countsWaiting = false, until }: Wanted,
): Promise<ClaimResult> {
  const ready = readyTasks(system, types, Math.min(PAGE_ENTRIES_MAX, Math.max(READ_HEADS_MIN, wanted + 1)))
  const round: Round = {
    types,
    ready,
    claimer,
    wanted,
    isInOrder: types.length === 1,
    startPolicy,
    heldBack: heldBackBy(types, targets, { isSent: countsWaiting }),
    claimed: [],
    countsWaiting,
    until,
    targets,
    pending: [],
    orders: new Map(),
    passedOver: undefined,
    examined: 0,
    isOver: false,
  }
  const scattered = Math.ceil(wanted * SCATTERED_SHARE)
  let size = Math.ceil(wanted * PROBE_SHARE)
  let window = 0
  while (leftOf(round) > 0 && !round.isOver && isInTime(system, round)) {
    const chosen = await choose(system, round, size)
    if (chosen.length === 0) break
    const lost = await attempt(system, round, chosen)
    if (lost > chosen.length * LOST_SHARE_MAX) {
      const rivals = chosen.length / Math.max(1, chosen.length - lost)
      window = Math.min(WINDOW_TASKS_MAX, Math.max(2 * window, Math.ceil(SPREAD * scattered * rivals)))
      const found = await scatter(round, window)
      size = Math.max(1, Math.ceil((scattered * found) / window))
    } else if (lost === 0) size *= GROWTH
    if (window > 0) size = Math.min(size, Math.ceil(window / SPREAD))
  }
  if (round.isInOrder) round.claimed.sort((a, b) => compareTexts(orderIn(round, a), orderIn(round, b)))
  if (window === 0) await noteClaimedFront(system, round)
  const { waiting, nextStart } = round.heldBack
  return { claimed: round.claimed, waiting: waiting(), nextStart: nextStart() }
}

function isInTime({ clock }: System, { until }: Round): boolean {
  return until === undefined || clock.now() < until
}

function orderIn({ orders }: Round, { task }: Claimed): string {
  return orders.get(task.id) ?? orderOf(task)
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/**
 * Notes up to which turn tasks of a tenants' line were claimed. Without the note, tasks that limits hold back would keep
 * the front of the line at their own turns.
 */
async function noteClaimedFront(system: System, { passedOver, claimed, orders }: Round): Promise<void> {
  if (!passedOver || tenantOf(passedOver) === undefined) return
  const line = fairLineOf(passedOver)
  const first = turnAt(line, orderOf(passedOver))
  const turns = claimed.flatMap(({ task }) => turnAt(line, orders.get(task.id) ?? '') ?? [])
  if (first === undefined || turns.length === 0) return
  await noteFront(system, line, { passedOver: first, claimed: Math.min(...turns) })
}

function leftOf({ wanted, claimed, heldBack, countsWaiting }: Round): number {
  if (countsWaiting) return wanted - claimed.length - heldBack.waiting()
  return heldBack.isAll() ? 0 : wanted - claimed.length
}

/**
 * Begins a new window, and returns how many tasks it holds. Tasks that were read but not tried come again with it, if the
 * ready places still show them.
 */
async function scatter(round: Round, window: number): Promise<number> {
  round.targets = [...round.targets, ...round.pending.filter(isTargeted)].sort(byClaimOrder)
  round.pending = []
  return round.ready.scatter(window)
}

/** The next tasks whose heads allow a claim and whose claims still fit the answer. */
async function choose(system: System, round: Round, size: number): Promise<Task[]> {
  const most = Math.min(size, leftOf(round))
  const chosen: Task[] = []
  const claimed = round.claimed.map(({ task }) => task)
  let bytes = claimed.reduce((sum, task) => sum + claimBytesMax(task), 0)
  while (chosen.length < most && !round.isOver) {
    const task = round.pending.shift() ?? (await refill(round, most - chosen.length))
    if (!task) break
    if (!isCandidate(system, round, task)) continue
    bytes += claimBytesMax(task)
    const others = [...claimed, ...chosen]
    const isFull = bytes + listBytes([...others, task]) > ANSWER_BYTES_MAX
    // An answer can always deliver one claim. Claims for tickets are not sent in an answer, so they have no bound.
    round.isOver = isFull && others.length > 0 && !round.countsWaiting
    if (!round.isOver) chosen.push(task)
  }
  for (const task of chosen) round.orders.set(task.id, orderOf(task))
  return chosen
}

/** Remembers the first task that is passed over. A task that no longer waits does not count: an index may still show it. */
function passOver(round: Round, task: Task): void {
  const isWaiting = task.place?.name === readyPlaceOf(task)
  if (isWaiting && round.isInOrder) round.passedOver ??= task
}

function isCandidate(system: System, round: Round, task: Task): boolean {
  const isKnownHeldBack = round.heldBack.isKnown(task)
  round.examined += isKnownHeldBack ? HELD_BACK_WEIGHT : 1
  const isAtFault = isKnownFault(system, task)
  const isWorthTrying =
    !isKnownHeldBack && !isAtFault && claimWouldWrite(task, round.claimer, system.clock.now())
  if (!isWorthTrying && !isAtFault) passOver(round, task)
  return isWorthTrying
}

async function refill(round: Round, count: number): Promise<Task | undefined> {
  const isEnough = round.examined >= EXAMINED_MAX || round.heldBack.isAll()
  const ready = isEnough ? [] : await round.ready.next(Math.max(READ_HEADS_MIN, count))
  round.pending = withTargets(round, ready)
  return round.pending.shift()
}

/**
 * Merges the targets into the ready tasks by their order. With several types, whose tasks take turns, targets come
 * first.
 */
function withTargets(round: Round, found: readonly Task[]): Task[] {
  const ready = round.isInOrder ? found.toSorted(byClaimOrder) : found
  const last = round.isInOrder ? ready.at(-1) : undefined
  const isNext = (task: Task) => !last || orderOf(task) <= orderOf(last)
  const next = round.targets.filter(isNext)
  round.targets = round.targets.filter(task => !isNext(task))
  return last ? [...next, ...ready].sort(byClaimOrder) : [...next, ...ready]
}

/**
 * Bytes for the lists that a canvas hands on. All claims of an answer share them. The answer shows each list twice,
 * escaped.
 */
function listBytes(tasks: readonly Task[]): number {
  return tasks.some(({ previous }) => previous?.kind === 'node') ? 4 * CLAIMED_LISTS_BYTES_MAX : 0
}

/**
 * Claims the chosen tasks at the same time and returns how many were lost to others. A task that was refused for a reason
 * of its own, such as a passed deadline, does not count as lost. When the store fails for one claim, the other claims are
 * delivered all the same: their runs would be lost otherwise.
 */
async function attempt(system: System, round: Round, chosen: readonly Task[]): Promise<number> {
  const { until = system.clock.now() + CLAIM_PATIENCE_MS } = round
  const results = await Promise.allSettled(
    chosen.map(task => claimTask(system, task, round.claimer, round.startPolicy, { until })),
  )
  const answers = results.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
  round.claimed.push(...answers.filter(answer => 'run' in answer))
  for (const [nth, task] of chosen.entries()) if (isRefusedByLimit(results[nth])) passOver(round, task)
  round.heldBack.note(chosen, results)
  const failure = results.find(result => result.status === 'rejected')
  if (failure) {
    if (round.claimed.length === 0) throw failure.reason
    system.log.warn('some tasks were not claimed; the claim ends early', { error: failure.reason })
    round.isOver = true
  }
  return answers.filter(answer => 'refused' in answer && answer.lostToOthers).length
}

/** Whether a limit refused the claim. */
function isRefusedByLimit(result: PromiseSettledResult<Claimed | NotClaimed> | undefined): boolean {
  if (result?.status !== 'fulfilled' || !('refused' in result.value)) return false
  return result.value.refused === 'rate-limit' || result.value.refused === 'concurrency-limit'
}
