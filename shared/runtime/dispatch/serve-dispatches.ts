import type { Claimer } from '../../core/run/claim.ts'
import { pieceOf, workOf } from '../../core/task/piece.ts'
import { endedRuns, type Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { groupBy } from '../../core/values/values.ts'
import type { TaskDefinition } from '../../define/definitions.ts'
import type { Clock } from '../../ports/machine.ts'
import type { Delivery, Dispatch } from '../../ports/messages.ts'
import type { ClaimByTicket, Ticket, TicketRefusal } from '../claim/claim-by-ticket.ts'
import { claimByTickets } from '../claim/claim-by-ticket.ts'
import { type Claimed, endRunOrLog } from '../claim/claimed-task.ts'
import { onceEach, type System } from '../kernel/system.ts'
import { isTicket } from '../place/ready.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { earlyDelaySeconds, reportEndOfChain, serveDispatch } from './dispatch.ts'
import { FUNCTION, isChainOver, TICKET_PASSES_MAX } from './disposition.ts'

export type ReceivedDispatch = {
  readonly messageId: string
  readonly task: Task
  /** How often workers have passed it on. @default 0 */
  readonly passedOn?: number
  /** How often functions have sent it on. @default 0 */
  readonly hops?: number
} & Pick<Dispatch, 'freed'>

type ServingTools = {
  readonly definition: TaskDefinition
  readonly typeOf: TypeReader
  /** By the system's clock: when the runs are stopped, and end as timed out. */
  readonly stopAt: number
  /** Aborts when the function's process must end: it claims no more tasks, and releases its runs. */
  readonly aborting?: AbortSignal
}

/**
 * Serves a batch of dispatches in a function, concurrently. Returns the ids of the messages that the queue must deliver again.
 *
 * A suspect runs alone. The rest of its batch is sent back first, so that other processes receive it at once.
 */
export async function serveDispatches(
  system: System,
  batch: readonly ReceivedDispatch[],
  claimer: Claimer,
  { definition, typeOf: readType, stopAt, aborting }: ServingTools,
): Promise<string[]> {
  const { toRun, others } = suspectAlone(deliveriesOf(system, batch))
  const typeOf = onceEach(readType)
  const done = new AbortController()
  const outOfTime = signalAt(system.clock, stopAt, done.signal)
  try {
    const unsent = await sendBackAll(system, withoutRepeated(others, toRun))
    const claimByTicket = await createBatchTicketClaimer(system, claimer, typeOf, toRun)
    const serving = {
      ...{ system, receiver: FUNCTION, claimer, definition, typeOf, claimByTicket, outOfTime },
      ...{ aborting, draining: aborting },
    }
    const served = await Promise.all(toRun.map(one => serveDispatch(serving, one)))
    const left = toRun.filter((_, nth) => served[nth] === 'left')
    return [...unsent, ...left].map(({ messageId }) => messageId)
  } finally {
    done.abort()
  }
}

type BatchDelivery = Delivery & Pick<ReceivedDispatch, 'messageId'> & Required<Pick<Delivery, 'hops'>>

/**
 * The deliveries of a batch. Lambda deletes their messages after the invocation, except those that the function reports as
 * failed. Each delivery has the hops of the longest chain, because Lambda counts all that an invocation sends to that chain.
 */
function deliveriesOf(system: System, batch: readonly ReceivedDispatch[]): BatchDelivery[] {
  const hops = Math.max(0, ...batch.map(one => one.hops ?? 0))
  return batch.map(({ messageId, task, passedOn = 0, freed }) => ({
    ...{ messageId, task, passedOn, hops, ...(freed && { freed }) },
    done: async () => undefined,
    putBack: async (delaySeconds, passes = passedOn) => {
      const sent = forwarded({ task, hops }, delaySeconds, passes)
      const [failure] = await system.messages.dispatch([sent])
      if (failure) throw new Error(`the dispatch of ${task.id} was not sent back: ${failure.reason}`)
    },
  }))
}

function forwarded(
  { task, hops }: Pick<BatchDelivery, 'task' | 'hops'>,
  delaySeconds: number,
  passedOn: number,
): Dispatch {
  return { task, delaySeconds, ...(passedOn > 0 && { passedOn }), hops: hops + 1 }
}

function signalAt(clock: Clock, time: number, done: AbortSignal): AbortSignal {
  const reached = new AbortController()
  void clock.sleep(time - clock.now(), done).then(() => {
    if (!done.aborted) reached.abort()
  })
  return reached.signal
}

/**
 * Leaves out repeated dispatches of a suspect, so that it is sent back at most once. Each send may duplicate a message. Of
 * a batch of ten dispatches of one suspect, one is served and nine are sent back. So duplicates would grow without end.
 */
function withoutRepeated(
  others: readonly BatchDelivery[],
  toRun: readonly BatchDelivery[],
): readonly BatchDelivery[] {
  const all = [...toRun, ...others]
  const isFirst = (one: BatchDelivery) => all.find(other => isSameDispatch(one, other)) === one
  return others.filter(one => !isSuspect(one.task) || one.task.options.concurrency > 1 || isFirst(one))
}

function isSameDispatch({ task: a }: BatchDelivery, { task: b }: BatchDelivery): boolean {
  return a.id === b.id && a.born === b.born && a.revision === b.revision
}

/** Sends the dispatches back at once. Returns those that were not sent: all of them when their chain is over. */
async function sendBackAll(
  system: System,
  deliveries: readonly BatchDelivery[],
): Promise<readonly BatchDelivery[]> {
  const [first] = deliveries
  if (!first) return []
  if (isChainOver(first, FUNCTION)) {
    reportEndOfChain(system, first, deliveries.length)
    return deliveries
  }
  const failures = await system.messages.dispatch(deliveries.map(one => forwarded(one, 0, one.passedOn)))
  return failures.flatMap(({ index }) => deliveries[index] ?? [])
}

/**
 * A suspect is a task whose last run was lost, which suggests that it took its process down. The runs of one invocation
 * share a process, so a function runs a suspect alone.
 */
type Suspects<One> = {
  /** One suspect if there is any, else all. */
  readonly toRun: readonly One[]
  readonly others: readonly One[]
}

/** Divides what one invocation received or claimed, so that a suspect runs alone. */
function suspectAlone<One extends { readonly task: Task }>(all: readonly One[]): Suspects<One> {
  const suspect = all.find(({ task }) => isSuspect(task))
  if (!suspect) return { toRun: all, others: [] }
  return { toRun: [suspect], others: all.filter(one => one !== suspect) }
}

/** Whether the last run of the task's present stage or step was lost. */
function isSuspect(task: Task): boolean {
  const piece = pieceOf(task)
  const last = endedRuns(task)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}

type Outcomes = ReadonlyMap<Ticket, Claimed | TicketRefusal>

/**
 * Claims for the tickets among the dispatches of one batch. The tickets of one type whose tasks may start now share one
 * claim. A ticket whose task starts later has a claim of its own.
 *
 * `typeOf` must give the same answer throughout the batch. Otherwise a dispatch could stop being a ticket after the
 * claim that it shares, and no handler would run the task that was claimed for it.
 */
async function createBatchTicketClaimer(
  system: System,
  claimer: Claimer,
  typeOf: TypeReader,
  dispatches: readonly Ticket[],
): Promise<ClaimByTicket> {
  const groups = await startableTickets(system, typeOf, dispatches)
  const claims = new Map<readonly Ticket[], Promise<Outcomes>>()
  return async (type, ticket) => {
    const group = groups.find(tickets => tickets.includes(ticket)) ?? [ticket]
    const claim = claims.get(group) ?? claimForGroup(system, type, claimer, group)
    claims.set(group, claim)
    return (await claim).get(ticket) ?? 'not-needed'
  }
}

/** The tickets that may start now, in one group per type. */
async function startableTickets(
  { clock }: System,
  typeOf: TypeReader,
  dispatches: readonly Ticket[],
): Promise<ReadonlyArray<readonly Ticket[]>> {
  const now = clock.now()
  const inTime = dispatches.filter(({ task }) => earlyDelaySeconds(task, now) === undefined)
  const types = await Promise.all(inTime.map(({ task }) => typeOf(workOf(task).type)))
  const startable = inTime.filter(
    ({ task }, nth) => types[nth] && isTicket(task, types[nth]) && task.dueAt <= now,
  )
  return [...groupBy(startable, ({ task }) => workOf(task).type).values()]
}

/**
 * Claims for tickets of one type. If a suspect (a task whose last run was lost; see `Suspects`) was claimed, it runs alone:
 * the other claimed tasks are released.
 */
async function claimForGroup(
  system: System,
  type: TaskType,
  claimer: Claimer,
  tickets: readonly Ticket[],
): Promise<Outcomes> {
  const named = tickets.map(({ task }) => task)
  const { claimed, waiting } = await claimByTickets(system, type, claimer, named)
  const { toRun, others: released } = suspectAlone(claimed)
  await Promise.all(released.map(one => endRunOrLog(system, one, { outcome: 'release' })))
  const unused = unusedTickets(tickets, toRun, released.length + waiting)
  const used = tickets.filter(one => !unused.includes(one))
  const why = released.length > 0 ? 'suspect-runs-alone' : 'no-task'
  return new Map<Ticket, Claimed | TicketRefusal>([
    ...unused.map(ticket => [ticket, why] as const),
    ...used.map((ticket, nth) => [ticket, toRun[nth] ?? 'not-needed'] as const),
  ])
}

/**
 * The tickets that found no task and may be passed on. A ticket for a released task, or for one that waits for a limit, is
 * not passed on, since a new ticket is sent for that task.
 *
 * `newTickets`: how many tasks get a new ticket: released ones, and those that wait for a limit.
 */
function unusedTickets(
  tickets: readonly Ticket[],
  toRun: readonly Claimed[],
  newTickets: number,
): readonly Ticket[] {
  const ids = new Set(toRun.map(({ task }) => task.id))
  const left = tickets.length - toRun.length - newTickets
  return tickets
    .filter(({ task, passedOn }) => !ids.has(task.id) && passedOn < TICKET_PASSES_MAX)
    .slice(0, Math.max(0, left))
}
