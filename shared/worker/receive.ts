import type { Claimer } from '../core/run/claim.ts'
import type { Delivery, Inbox } from '../ports/messages.ts'
import type { Claimed } from '../runtime/claim/claim.ts'
import { claimTargets } from '../runtime/claim/claim-targets.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { Capacity } from './slots.ts'

/** The most that a queue hands out at once. Source: SQS, ReceiveMessage. */
const MAX_DELIVERIES = 10
/** How long an idle type waits for its next dispatch; the longest that SQS can wait. */
const LONG_POLL_MS = 20_000
/** How often a worker with room looks for tasks that are meant for it alone. */
const TARGETS_INTERVAL_MS = 1_000
/** Before a queue that does not answer is asked again. */
const PAUSE_MS = 1_000

export type Receiving = {
  readonly system: System
  readonly inbox: Inbox
  readonly capacity: Capacity
  /** Ends the receiving. */
  readonly draining: AbortSignal
  /** Serves a delivery of the type's queue whose slot is taken, and releases that slot at its end. */
  readonly serve: (type: string, delivery: Delivery) => void
  /** The same for a task that is claimed already. */
  readonly serveClaimed: (claimed: Claimed) => void
  readonly onError: (error: unknown) => void
}

/**
 * Fetches the dispatches of one type as long as there is room. A type with work asks without waiting for as many as it
 * has slots; an idle one waits for its next dispatch and holds no slot meanwhile, so that many idle types cost a busy
 * one nothing.
 */
export async function receiveDispatches(type: string, receiving: Receiving): Promise<void> {
  const { draining: over, system, onError: onTrouble } = receiving
  let isIdle = false
  while (!over.aborted) {
    try {
      const received: number = await (isIdle ? awaitOne(type, receiving) : fetchMany(type, receiving))
      isIdle = received === 0
    } catch (error) {
      onTrouble(error)
      await system.clock.sleep(PAUSE_MS, over)
    }
  }
}

/** Claims what is meant for this worker alone, as long as there is room: such tasks are in no queue. */
export async function receiveTargets(
  types: readonly string[],
  claimer: Claimer,
  { system, capacity: slots, draining: over, serveClaimed, onError: onTrouble }: Receiving,
): Promise<void> {
  while (!over.aborted) {
    const room = await slots.takeUpTo(MAX_DELIVERIES, over)
    let served = 0
    try {
      const claimed = room > 0 ? await claimTargets(system, claimer, types, room) : []
      for (const one of claimed) {
        serveClaimed(one)
        served += 1
      }
    } catch (error) {
      onTrouble(error)
    } finally {
      slots.release(room - served)
    }
    if (served === 0) await system.clock.sleep(TARGETS_INTERVAL_MS, over)
  }
}

/** Not aborted in the middle: what had just been handed out would hide until its visibility timeout. */
async function fetchMany(
  type: string,
  { inbox, capacity: slots, draining: over, serve }: Receiving,
): Promise<number> {
  const max = await slots.takeUpTo(MAX_DELIVERIES, over)
  if (max === 0) return 0
  let served = 0
  try {
    const deliveries = await inbox.receive(type, { max, waitMs: 0 })
    for (const delivery of deliveries) {
      serve(type, delivery)
      served += 1
    }
  } finally {
    slots.release(max - served)
  }
  return served
}

/** What comes when the last slot has just been taken goes back, for another worker or this one's next turn. */
async function awaitOne(
  type: string,
  { inbox, capacity: slots, draining: over, serve }: Receiving,
): Promise<number> {
  if (!(await slots.whenFree(over))) return 0
  const deliveries = await inbox.receive(type, { max: 1, waitMs: LONG_POLL_MS }, over)
  for (const delivery of deliveries) {
    if (slots.tryTake()) serve(type, delivery)
    else await delivery.putBack(0)
  }
  return deliveries.length
}
