import type { Claimer } from '../../core/run/claim.ts'
import type { Delivery, Inbox } from '../../ports/messages.ts'
import { claimTargets } from '../../runtime/claim/claim-targets.ts'
import type { Claimed } from '../../runtime/claim/claimed-task.ts'
import type { System } from '../../runtime/kernel/system.ts'
import type { Capacity } from '../capacity.ts'

/** The most messages that one receive can return. Source: SQS, ReceiveMessage. */
const DELIVERIES_MAX = 10
/** How long an idle type waits for its next dispatch; the longest wait that SQS offers. */
const LONG_POLL_MS = 20_000
/** How often a worker with free capacity looks for tasks that name this worker in `workerIds`. */
const TARGETS_INTERVAL_MS = 1_000
/** The pause after a failed receive. */
const PAUSE_MS = 1_000

export type Receiving = {
  readonly system: System
  readonly inbox: Inbox
  readonly capacity: Capacity
  /** Ends the receiving when it aborts. */
  readonly draining: AbortSignal
  /** Serves a delivery of the type's queue. One unit of capacity was taken for it; `serve` releases that unit at its end. */
  readonly serve: (type: string, delivery: Delivery) => void
  /** Serves a task that is already claimed, and releases its unit of capacity at its end. */
  readonly serveClaimed: (claimed: Claimed) => void
  readonly onError: (error: unknown) => void
}

/**
 * Fetches the dispatches of one type as long as the worker has free capacity. A type with work takes its share of the
 * capacity and receives without waiting. An idle type waits for its next dispatch and takes no capacity meanwhile, so
 * that many idle types cost a busy one nothing.
 */
export async function receiveDispatches(type: string, receiving: Receiving): Promise<void> {
  const { draining, system, onError } = receiving
  let isIdle = false
  while (!draining.aborted) {
    try {
      const received: number = await (isIdle ? awaitOne(type, receiving) : fetchMany(type, receiving))
      isIdle = received === 0
    } catch (error) {
      onError(error)
      await system.clock.sleep(PAUSE_MS, draining)
    }
  }
}

/** Claims the tasks that name this worker in `workerIds`, as long as there is free capacity. Such tasks are in no queue. */
export async function receiveTargets(
  types: readonly string[],
  claimer: Claimer,
  { system, capacity, draining, serveClaimed, onError }: Receiving,
): Promise<void> {
  while (!draining.aborted) {
    const taken = await capacity.takeUpTo(DELIVERIES_MAX, draining)
    let served = 0
    try {
      const claimed = taken > 0 ? await claimTargets(system, claimer, types, taken) : []
      for (const one of claimed) {
        serveClaimed(one)
        served += 1
      }
    } catch (error) {
      onError(error)
    } finally {
      capacity.release(taken - served)
    }
    if (served === 0) await system.clock.sleep(TARGETS_INTERVAL_MS, draining)
  }
}

/**
 * Receives as many dispatches as the capacity allows. Draining does not abort the receive: messages that SQS has
 * just returned would stay hidden until their visibility timeout.
 */
async function fetchMany(type: string, { inbox, capacity, draining, serve }: Receiving): Promise<number> {
  const max = await capacity.takeUpTo(DELIVERIES_MAX, draining)
  if (max === 0) return 0
  let served = 0
  try {
    const deliveries = await inbox.receive(type, { max, waitMs: 0 })
    for (const delivery of deliveries) {
      serve(type, delivery)
      served += 1
    }
  } finally {
    capacity.release(max - served)
  }
  return served
}

/** Waits for one dispatch. When the capacity was used up meanwhile, the dispatch goes back to its queue at once. */
async function awaitOne(type: string, { inbox, capacity, draining, serve }: Receiving): Promise<number> {
  if (!(await capacity.whenFree(draining))) return 0
  const deliveries = await inbox.receive(type, { max: 1, waitMs: LONG_POLL_MS }, draining)
  for (const delivery of deliveries) {
    if (capacity.tryTake()) serve(type, delivery)
    else await delivery.putBack(0)
  }
  return deliveries.length
}
