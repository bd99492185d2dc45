/**
 * A dispatch is a message on a type's queue that says which task may be claimed. This room serves batches of dispatches in
 * a Lambda function: it claims and runs tasks, sends messages back for other workers, and reports which messages the
 * queue must deliver again.
 *
 * `received-dispatch.ts` sends one dispatch back, with a delay and a bound on repetitions. A dispatch of a type that has
 * an order is a ticket for the best waiting task: see `serve-tickets.ts`.
 */
import { startsAt } from '../../core/place/place.ts'
import type { Claimer } from '../../core/run/claim.ts'
import { workOf } from '../../core/task/piece.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { Clock } from '../../ports/machine.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { isTicket } from '../ready/ready.ts'
import { runTask } from '../run/run.ts'
import type { cachedTypeReader } from '../types/type-cache.ts'
import {
  type DispatchTools,
  earlyDelaySeconds,
  forwardedDispatch,
  isChainOver,
  isSuspect,
  notDueDelaySeconds,
  PASS_DELAY_S,
  PASSES_MAX,
  type ReceivedDispatch,
  sendBack,
  serveOrRedeliver,
  toolsFor,
  withLongestChain,
} from './received-dispatch.ts'
import { serveTickets } from './serve-tickets.ts'

type ServingTools = {
  readonly definition: TaskDefinition
  readonly typeOf: ReturnType<typeof cachedTypeReader>
  /** By the system's clock: when the runs are stopped, and end as timed out. */
  readonly stopAt: number
}

/**
 * Serves a batch of dispatches of one type concurrently. Returns the ids of the messages that the queue must deliver
 * again.
 *
 * A suspect, a task whose last run took its process down, runs alone. The rest of its batch is sent back first, so that
 * other processes receive it at once.
 */
export async function serveDispatches(
  system: System,
  batch: readonly ReceivedDispatch[],
  claimer: Claimer,
  { stopAt, ...rest }: ServingTools,
): Promise<string[]> {
  const received = withLongestChain(batch)
  const suspect = received.find(({ seen }) => isSuspect(seen))
  const toServe = suspect ? [suspect] : received
  const others = received.filter(one => !toServe.includes(one))
  const done = new AbortController()
  const tools = { ...rest, outOfTime: signalAt(system.clock, stopAt, done.signal) }
  try {
    const unsent = await sendBackAll(system, withoutRepeated(others, toServe))
    const { early, tickets, named } = await sorted(system, toServe, tools)
    const failed = await Promise.all([
      ...early.map(one => serveOrRedeliver(system, one, () => sendBackEarly(system, one))),
      ...tickets.map(group => serveTickets(system, group, claimer, tools)),
      ...named.map(one => serveOrRedeliver(system, one, () => runNamed(system, one, claimer, tools))),
    ])
    return [...unsent, ...failed.flat()]
  } finally {
    done.abort()
  }
}

/**
 * Leaves out repeated dispatches of a suspect, so that it is sent back at most once. Each send may duplicate a message. Of
 * a batch of ten dispatches of one suspect, one is served and nine are sent back. So duplicates would grow without end.
 */
function withoutRepeated(
  received: readonly ReceivedDispatch[],
  toServe: readonly ReceivedDispatch[],
): ReceivedDispatch[] {
  const all = [...toServe, ...received]
  const isFirst = (one: ReceivedDispatch) => all.find(other => isSameDispatch(one, other)) === one
  return received.filter(one => !isSuspect(one.seen) || one.seen.options.concurrency > 1 || isFirst(one))
}

function isSameDispatch({ seen: a }: ReceivedDispatch, { seen: b }: ReceivedDispatch): boolean {
  return a.id === b.id && a.born === b.born && a.revision === b.revision
}

/** A signal that aborts at `time`, unless `done` aborts first. */
function signalAt(clock: Clock, time: number, done: AbortSignal): AbortSignal {
  const reached = new AbortController()
  void clock.sleep(time - clock.now(), done).then(() => {
    if (!done.aborted) reached.abort()
  })
  return reached.signal
}

/**
 * Sends the dispatches back. Returns the ids of the messages that were not sent, which the queue must deliver again. At the
 * end of a chain of messages, none is sent.
 */
async function sendBackAll(system: System, received: readonly ReceivedDispatch[]): Promise<string[]> {
  if (received.length === 0) return []
  if (isChainOver(system, received)) return received.map(({ messageId }) => messageId)
  const failures = await system.messages.dispatch(received.map(one => forwardedDispatch(one, 0)))
  return failures.flatMap(({ index }) => received[index]?.messageId ?? [])
}

type Sorted = {
  /** Dispatches that came too early and are sent back. */
  readonly early: readonly ReceivedDispatch[]
  /** Groups of tickets. One claim serves a group. */
  readonly tickets: ReadonlyArray<readonly ReceivedDispatch[]>
  /** Dispatches that are no tickets: their receiver claims the task that they name. */
  readonly named: readonly ReceivedDispatch[]
}

/**
 * Sorts the dispatches by how they are served. Tickets that may start now form one group per type. Each other ticket is a
 * group of its own.
 */
async function sorted(
  system: System,
  received: readonly ReceivedDispatch[],
  { typeOf }: DispatchTools,
): Promise<Sorted> {
  const now = system.clock.now()
  const early = received.filter(({ seen }) => earlyDelaySeconds(seen, now) !== undefined)
  const inTime = received.filter(one => !early.includes(one))
  const areTickets = await Promise.all(
    inTime.map(async ({ seen }) => isTicket(seen, await typeOf(workOf(seen).type))),
  )
  const tickets = inTime.filter((_, index) => areTickets[index])
  const groups = Map.groupBy(tickets, ({ messageId, seen }) =>
    startsAt(seen) <= now ? workOf(seen).type : `later ${messageId}`,
  )
  return { early, tickets: [...groups.values()], named: inTime.filter((_, index) => !areTickets[index]) }
}

async function sendBackEarly(system: System, one: ReceivedDispatch): Promise<void> {
  await sendBack(system, one, earlyDelaySeconds(one.seen, system.clock.now()) ?? 0)
}

async function runNamed(
  system: System,
  one: ReceivedDispatch,
  claimer: Claimer,
  tools: DispatchTools,
): Promise<void> {
  const { seen, passedOn = 0 } = one
  await sleepUntil(system.clock, seen.dueAt)
  const delaySeconds = notDueDelaySeconds(seen, system.clock.now())
  if (delaySeconds !== undefined) return sendBack(system, one, delaySeconds)
  const report = await runTask(system, seen, claimer, await toolsFor(seen, tools))
  // Another worker is about to claim the task. After the last pass that worker has claimed it, or has died.
  const isPassable = !report.ran && report.why === 'being-claimed' && passedOn < PASSES_MAX
  if (isPassable) await sendBack(system, one, PASS_DELAY_S, passedOn + 1)
}
