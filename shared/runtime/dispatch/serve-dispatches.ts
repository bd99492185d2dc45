import type { Claimer } from '../../core/run/claim.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { TaskDefinition } from '../../define/definitions.ts'
import type { Clock } from '../../ports/machine.ts'
import type { Delivery, Dispatch } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'
import type { TypeReader } from '../types/type-cache.ts'
import { createBatchTicketClaimer } from './batch-tickets.ts'
import { reportEndOfChain, serveDispatch } from './dispatch.ts'
import { FUNCTION, isChainOver } from './disposition.ts'
import { isSuspect, suspectAlone } from './suspects.ts'

/** A dispatch as Lambda delivered it. */
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
 * Serves a batch of dispatches in a function, concurrently. Returns the ids of the messages that the queue must deliver
 * again.
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

/** The dispatch that is sent on for a received one. */
function forwarded(
  { task, hops }: Pick<BatchDelivery, 'task' | 'hops'>,
  delaySeconds: number,
  passedOn: number,
): Dispatch {
  return { task, delaySeconds, ...(passedOn > 0 && { passedOn }), hops: hops + 1 }
}

/** Reads each type once, so that all dispatches of a batch see the same type. */
function onceEach(typeOf: TypeReader): TypeReader {
  const read = new Map<string, Promise<TaskType | undefined>>()
  return type => {
    const known = read.get(type) ?? typeOf(type)
    read.set(type, known)
    return known
  }
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
