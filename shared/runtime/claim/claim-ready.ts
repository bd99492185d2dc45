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

/** Candidates that one call looks at: what is in front may all be taken, or meant for other workers. */
const MOST_EXAMINED = 1_000
/** Those that a limit or a pause is known to hold back count so much less: others may be free behind them. */
const HELD_BACK_SHARE = 1 / 4
const PAGE = 100
/**
 * Heads read at a time, though fewer may be wanted: some will be meant for other workers. Pages of the indexes hold as many, so
 * that one round of queries is enough for them: smaller ones cost the same half a unit each.
 */
const MIN_READ = 10
/** The first attempt takes this share of what is wanted, and shows whether others claim, too. */
const PROBE_SHARE = 1 / 16
/** As long as nobody else seems to claim, each attempt is so many times as large as the last. */
const GROWTH = 2
/** Once somebody does, attempts take this share of what is wanted, */
const SCATTERED_SHARE = 1 / 6
/** among this many times what all seem to take together, in random order, */
const SPREAD = 4
/** and among twice as many whenever more than this share of an attempt is lost to others. */
const MUCH_LOST = 0.3
/**
 * A claim never passes over more open tasks than this. 20 clients at 50 a time from 2,000 tasks then lose 0.3 writes per
 * task on the local cloud, and 0.45 with the latencies of AWS, simulated; narrower windows lose more.
 */
const WIDEST_WINDOW = 500

type Round = {
  readonly types: readonly TaskType[]
  readonly ready: ReadyTasks
  readonly claimer: Claimer
  readonly wanted: number
  /** Whether the ready tasks come in the order of their type; those of several types come by turns of the types. */
  readonly isInOrder: boolean
  readonly starting: StartPolicy
  readonly heldBack: HeldBack
  readonly claimed: Claimed[]
  readonly countsHeld: boolean
  readonly until: number | undefined
  /** Tasks for this claimer alone that no ready place shows, in order, not yet among the pending. */
  targets: readonly Task[]
  /** Heads that were read and not yet tried. */
  pending: Task[]
  /** Where tasks stood that were chosen, by id: a claim drops that. */
  readonly orders: Map<string, string>
  /** The first task that waits and that a limit keeps from being claimed now. */
  passedOver: Task | undefined
  examined: number
  isOver: boolean
}

export type Wanted = {
  readonly wanted: number
  /** Tasks for this claimer that no ready place shows. */
  readonly targets?: readonly Task[]
  /** How starts under rate limits are got. @default those that may be had at once */
  readonly startPolicy?: StartPolicy
  /** Whether a task that a limit holds back, and that waits for it from now on, counts among the wanted ones. */
  readonly countsWaiting?: boolean
  /** By the system's clock: from then on nothing more is tried. @default each claim for itself, 8 s after it began */
  readonly until?: number
}

/**
 * What was claimed, how many of those that were to be claimed wait for a limit instead, and when a limit may allow a start that
 * has kept others from it, Infinity if none is known to.
 */
export type ClaimResult = {
  readonly claimed: Claimed[]
  readonly waiting: number
  readonly nextStart: number
}

/**
 * Claims up to `wanted` ready tasks and `targets` in their type's order, until an answer might not hold more; what limits
 * keep from running is passed over.
 * When much of an attempt is lost to others, the next ones choose by chance among the first tasks, so that many who
 * claim at once do not all write to the same ones: among 500 at most, so a later answer may bring tasks that belong
 * before those of an earlier one, but no answer passes over more. The answer itself is in order in any case.
 */
export async function claimReady(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  {
    wanted,
    targets = [],
    startPolicy: starting = startAtOnce,
    countsWaiting: countsHeld = false,
    until,
  }: Wanted,
): Promise<ClaimResult> {
  const ready = readyTasks(system, types, Math.min(PAGE, Math.max(MIN_READ, wanted + 1)))
  const round: Round = {
    types,
    ready,
    claimer,
    wanted,
    isInOrder: types.length === 1,
    starting,
    heldBack: heldBackBy(types, targets, { isSent: countsHeld }),
    claimed: [],
    countsHeld,
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
    if (lost > chosen.length * MUCH_LOST) {
      const rivals = chosen.length / Math.max(1, chosen.length - lost)
      window = Math.min(WIDEST_WINDOW, Math.max(2 * window, Math.ceil(SPREAD * scattered * rivals)))
      const among = await scatter(round, window)
      size = Math.max(1, Math.ceil((scattered * among) / window))
    } else if (lost === 0) size *= GROWTH
    if (window > 0) size = Math.min(size, Math.ceil(window / SPREAD))
  }
  if (round.isInOrder) round.claimed.sort((a, b) => compared(orderIn(round, a), orderIn(round, b)))
  if (window === 0) await noteWhereTurnsAre(system, round)
  const { waiting, nextStart } = round.heldBack
  return { claimed: round.claimed, waiting: waiting(), nextStart: nextStart() }
}

function isInTime({ clock }: System, { until }: Round): boolean {
  return until === undefined || clock.now() < until
}

function orderIn({ orders }: Round, { task }: Claimed): string {
  return orders.get(task.id) ?? orderOf(task)
}

function compared(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Tasks that limits hold back must not keep the front of their line where they stand. */
async function noteWhereTurnsAre(system: System, { passedOver, claimed, orders }: Round): Promise<void> {
  if (!passedOver || tenantOf(passedOver) === undefined) return
  const line = fairLineOf(passedOver)
  const first = turnAt(line, orderOf(passedOver))
  const turns = claimed.flatMap(({ task }) => turnAt(line, orders.get(task.id) ?? '') ?? [])
  if (first === undefined || turns.length === 0) return
  await noteFront(system, line, { passedOver: first, claimed: Math.min(...turns) })
}

function leftOf({ wanted, claimed, heldBack, countsHeld }: Round): number {
  if (countsHeld) return wanted - claimed.length - heldBack.waiting()
  return heldBack.isAll() ? 0 : wanted - claimed.length
}

/** What was read and not tried is read again with the rest of the window, if the ready places show it. */
async function scatter(round: Round, window: number): Promise<number> {
  round.targets = [...round.targets, ...round.pending.filter(isTargeted)].sort(byClaimOrder)
  round.pending = []
  return round.ready.scatter(window)
}

/** The next tasks that can be claimed as far as their heads tell, and whose claims still fit the answer. */
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
    // An answer can always deliver one claim; what a function claims for its own handler has no answer.
    round.isOver = isFull && others.length > 0 && !round.countsHeld
    if (!round.isOver) chosen.push(task)
  }
  for (const task of chosen) round.orders.set(task.id, orderOf(task))
  return chosen
}

/** An index may show what waits no more. */
function passOver(round: Round, task: Task): void {
  const isWaiting = task.place?.name === readyPlaceOf(task)
  if (isWaiting && round.isInOrder) round.passedOver ??= task
}

function isCandidate(system: System, round: Round, task: Task): boolean {
  const isHeldBack = round.heldBack.isKnown(task)
  round.examined += isHeldBack ? HELD_BACK_SHARE : 1
  const isAtFault = isKnownFault(system, task)
  const isWorthTrying = !isHeldBack && !isAtFault && claimWouldWrite(task, round.claimer, system.clock.now())
  if (!isWorthTrying && !isAtFault) passOver(round, task)
  return isWorthTrying
}

async function refill(round: Round, count: number): Promise<Task | undefined> {
  const isEnough = round.examined >= MOST_EXAMINED || round.heldBack.isAll()
  const ready = isEnough ? [] : await round.ready.next(Math.max(MIN_READ, count))
  round.pending = withTargets(round, ready)
  return round.pending.shift()
}

/** Puts the targets between ready tasks where they belong; those of several types, which come in turns, in front. */
function withTargets(round: Round, found: readonly Task[]): Task[] {
  const ready = round.isInOrder ? found.toSorted(byClaimOrder) : found
  const last = round.isInOrder ? ready.at(-1) : undefined
  const isNext = (task: Task) => !last || orderOf(task) <= orderOf(last)
  const next = round.targets.filter(isNext)
  round.targets = round.targets.filter(task => !isNext(task))
  return last ? [...next, ...ready].sort(byClaimOrder) : [...next, ...ready]
}

/** Lists that a canvas hands on share one room in an answer, which shows them twice, escaped. */
function listBytes(tasks: readonly Task[]): number {
  return tasks.some(({ previous }) => previous?.kind === 'node') ? 4 * CLAIMED_LISTS_BYTES_MAX : 0
}

/**
 * Claims the chosen tasks side by side and returns how many were lost to others; what was past its deadline, or not to be
 * had for another reason of its own, is no sign of them. What was won is handed out even when another claim failed for
 * the storage's sake: it would be lost otherwise.
 */
async function attempt(system: System, round: Round, chosen: readonly Task[]): Promise<number> {
  const { until = system.clock.now() + CLAIM_PATIENCE_MS } = round
  const results = await Promise.allSettled(
    chosen.map(task => claimTask(system, task, round.claimer, round.starting, { until })),
  )
  const answers = results.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
  round.claimed.push(...answers.filter(answer => 'run' in answer))
  for (const [nth, task] of chosen.entries()) if (isHeldBack(results[nth])) passOver(round, task)
  round.heldBack.note(chosen, results)
  const failure = results.find(result => result.status === 'rejected')
  if (failure) {
    if (round.claimed.length === 0) throw failure.reason
    system.log.warn('claimed less than there is', { error: failure.reason })
    round.isOver = true
  }
  return answers.filter(answer => 'refused' in answer && answer.lostToOthers).length
}

/** Whether a limit keeps a task from being claimed. */
function isHeldBack(result: PromiseSettledResult<Claimed | NotClaimed> | undefined): boolean {
  if (result?.status !== 'fulfilled' || !('refused' in result.value)) return false
  return result.value.refused === 'rate-limit' || result.value.refused === 'concurrency-limit'
}
