import {
  type EventBridgeClient,
  EventBridgeServiceException,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge'
import type { BatonEvent } from '../../core/events/event-types.ts'
import { hash32 } from '../../core/hash.ts'
import type { Events, SendFailure } from '../../ports/messages.ts'

/** Where events go, and which system they tell of. */
export type EventBusAddress = { readonly bus: string; readonly system: string }

/**
 * A request takes 10 entries, and 256 KB, which ten events of at most 4.5 KB never reach. Source: EventBridge quotas.
 */
const MAX_ENTRIES = 10
/** What does not fit into one request goes in so many lanes side by side. */
const LANES = 4

type Outgoing = { readonly event: BatonEvent; readonly index: number }

/**
 * Events as entries of an EventBridge bus: source `baton`, detail type the event's type, detail the event and its system.
 * Those about one task go one request after the other.
 */
export function createEventBridge(client: EventBridgeClient, address: EventBusAddress): Events {
  return {
    publish: async events => {
      const outgoing = events.map((event, index) => ({ event, index }))
      const lanes = Map.groupBy(outgoing, one => (events.length <= MAX_ENTRIES ? 0 : laneOf(one)))
      const failures = await Promise.all([...lanes.values()].map(lane => putInTurn(client, address, lane)))
      return failures.flat()
    },
  }
}

function laneOf({ event: { taskId, id } }: Outgoing): number {
  return hash32(taskId ?? id) % LANES
}

/** After a request that was not answered the rest of the lane is not tried: it would overtake, and wait as long. */
async function putInTurn(
  client: EventBridgeClient,
  address: EventBusAddress,
  lane: readonly Outgoing[],
): Promise<SendFailure[]> {
  const failures: SendFailure[] = []
  for (let at = 0; at < lane.length; at += MAX_ENTRIES) {
    const batch = lane.slice(at, at + MAX_ENTRIES)
    try {
      const entries = batch.map(({ event }) => entryOf(event, address))
      const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries }))
      failures.push(...Entries.flatMap((entry, position) => failureIn(entry, batch[position])))
    } catch (error) {
      const left = lane.slice(at)
      const why = { reason: String(error), transient: isTransient(error) }
      return [...failures, ...left.map(({ index }) => ({ index, ...why }))]
    }
  }
  return failures
}

function entryOf(event: BatonEvent, { bus, system }: EventBusAddress): PutEventsRequestEntry {
  const time = new Date(event.at)
  return {
    EventBusName: bus,
    Source: 'baton',
    DetailType: event.type,
    Detail: JSON.stringify({ ...event, at: time.toISOString(), system }),
    Time: time,
  }
}

function failureIn({ ErrorCode, ErrorMessage }: PutEventsResultEntry, sent?: Outgoing): SendFailure[] {
  if (ErrorCode === undefined || !sent) return []
  const reason = ErrorMessage ? `${ErrorCode}: ${ErrorMessage}` : ErrorCode
  return [{ index: sent.index, reason, transient: RETRYABLE.test(ErrorCode) }]
}

/** Source: EventBridge API reference, PutEventsResultEntry. All other codes refuse the entry for what it is. */
const RETRYABLE = /^Internal|Throttl|Unavailable/

/** Whether the service may answer another time: anything but a request that it refuses for what it is. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof EventBridgeServiceException)) return true
  const status = error.$metadata.httpStatusCode ?? 500
  return status >= 500 || status === 429 || error.$retryable !== undefined || RETRYABLE.test(error.name)
}
