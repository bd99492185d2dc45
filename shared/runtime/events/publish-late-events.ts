import type { BatonEvent } from '../../core/events/event-types.ts'
import type { Events, LateEventQueue, LateEvents, SendFailure } from '../../ports/messages.ts'
import type { System } from '../kernel/system.ts'

/** The world of those who tell events. */
export type EventSystem = Pick<System, 'types' | 'clock' | 'log'> & {
  readonly events: Events
  readonly lateBox: LateEventQueue
  /** `types`: of types that ask for it, and once one does, of what belongs to no type. `all`: whatever they say. */
  readonly scope: 'types' | 'all'
}

type Late = Pick<EventSystem, 'events' | 'lateBox' | 'log'>

/** A request takes ten events, and so does a message that tells them later. */
const BATCH = 10
/** When they are tried again first; each further time after twice as long. */
export const RETRY_S_MIN = 2
const MAX_RETRY_S = 900
/** Some two days, most of them in waits of a quarter of an hour. */
const MAX_HOPS = 200

/** Tells events that could not be told before; answers whether their message is done with. */
export async function publishLateEvents(system: Late, { events, hops }: LateEvents): Promise<boolean> {
  const failed = await publishOrLog(system, events)
  if (failed.length === 0) return true
  const left = failed.flatMap(({ index }) => events[index] ?? [])
  if (hops >= MAX_HOPS) {
    system.log.error('events were never told', { hops, events: left, reason: failed[0]?.reason })
    return true
  }
  return (await postponeEvents(system, left, hops + 1)).length === 0
}

/** Tells events; answers what is worth another try. What is refused for what it is will be refused again. */
export async function publishOrLog(system: Late, events: readonly BatonEvent[]): Promise<SendFailure[]> {
  const failures = await system.events.publish(events)
  for (const { index, reason, transient } of failures) {
    if (!transient) system.log.error('an event is refused', { event: events[index], reason })
  }
  return failures.filter(({ transient }) => transient)
}

/** Puts events aside, to be told later; answers those of them that have to be put aside again. */
export async function postponeEvents(
  { lateBox, log }: Late,
  events: readonly BatonEvent[],
  hops = 0,
): Promise<BatonEvent[]> {
  const delaySeconds = Math.min(RETRY_S_MIN * 2 ** hops, MAX_RETRY_S)
  const late = batchesOf(events).map(batch => ({ events: batch, hops, delaySeconds }))
  const failures = await lateBox.put(late)
  log.warn('events are told later', { events: events.length, hops, delaySeconds })
  for (const failure of failures) log.error('events could not be put aside', failure)
  return failures.flatMap(({ index, transient }) => (transient ? (late[index]?.events ?? []) : []))
}

function batchesOf(events: readonly BatonEvent[]): BatonEvent[][] {
  const count = Math.ceil(events.length / BATCH)
  return Array.from({ length: count }, (_, at) => events.slice(at * BATCH, (at + 1) * BATCH))
}
