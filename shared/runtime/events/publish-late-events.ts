import type { BatonEvent } from '../../core/events/events.ts'
import type { Events, LateEventQueue, LateEvents, SendFailure } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'

/** What publishing events needs of the system. */
export type EventSystem = Pick<System, 'types' | 'clock' | 'log'> & {
  readonly events: Events
  readonly lateEventQueue: LateEventQueue
  /**
   * `types`: events of types that ask for them, and events that belong to no type once one type asks. `all`:
   * all events, whatever the types say.
   */
  readonly scope: 'types' | 'all'
}

type LateSystem = Pick<EventSystem, 'events' | 'lateEventQueue' | 'log'>

/** One request takes ten events, and so does one message with postponed events. */
const BATCH_EVENTS = 10
/** The delay of the first retry; each further retry waits twice as long. */
export const RETRY_S_MIN = 2
const RETRY_S_MAX = 900
/** Some two days of retries, most of them a quarter of an hour apart. */
const HOPS_MAX = 200

/** Publishes postponed events; returns whether their message can be deleted. */
export async function publishLateEvents(system: LateSystem, { events, hops }: LateEvents): Promise<boolean> {
  const failed = await publishOrLog(system, events)
  if (failed.length === 0) return true
  const left = failed.flatMap(({ index }) => events[index] ?? [])
  if (hops >= HOPS_MAX) {
    system.log.error('events were never published', { hops, events: left, reason: failed[0]?.reason })
    return true
  }
  return (await postponeEvents(system, left, hops + 1)).length === 0
}

/** Publishes events; returns the failures that are worth another try. A permanent refusal is logged. */
export async function publishOrLog(
  system: LateSystem,
  events: readonly BatonEvent[],
): Promise<SendFailure[]> {
  const failures = await system.events.publish(events)
  for (const { index, reason, transient } of failures) {
    if (!transient) system.log.error('an event is refused', { event: events[index], reason })
  }
  return failures.filter(({ transient }) => transient)
}

/**
 * Sends events in delayed messages, which publish them later. Returns the events whose message could not be sent
 * and is worth another try.
 */
export async function postponeEvents(
  { lateEventQueue, log }: LateSystem,
  events: readonly BatonEvent[],
  hops = 0,
): Promise<BatonEvent[]> {
  const delaySeconds = Math.min(RETRY_S_MIN * 2 ** hops, RETRY_S_MAX)
  const late = batchesOf(events).map(batch => ({ events: batch, hops, delaySeconds }))
  const failures = await lateEventQueue.put(late)
  log.warn('events are postponed', { events: events.length, hops, delaySeconds })
  for (const failure of failures) log.error('events could not be postponed', failure)
  return failures.flatMap(({ index, transient }) => (transient ? (late[index]?.events ?? []) : []))
}

function batchesOf(events: readonly BatonEvent[]): BatonEvent[][] {
  const count = Math.ceil(events.length / BATCH_EVENTS)
  return Array.from({ length: count }, (_, at) => events.slice(at * BATCH_EVENTS, (at + 1) * BATCH_EVENTS))
}
