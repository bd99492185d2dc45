import type {
  EventBridgeClient,
  PutEventsRequestEntry,
  PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge'
import { EventBridgeServiceException, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import type { BatonEvent } from '../core/events/events.ts'
import { hash32 } from '../core/values/text.ts'
import { groupBy } from '../core/values/values.ts'
import type { Events, SendFailure } from '../ports/messages.ts'

/** The bus that receives the events, and the system that they are about. */
export type EventBusAddress = { readonly bus: string; readonly system: string }

/** A request takes 10 entries and 256 KB. Ten events of at most 4.5 KB never reach 256 KB. Source: EventBridge quotas. */
const ENTRIES_MAX = 10
/** Events that do not fit into one request are sent in this many lanes side by side. */
const LANES = 4

type Outgoing = { readonly event: BatonEvent; readonly index: number }

/**
 * Publishes events as entries of an EventBridge bus. The source is `baton`, the detail type is the event's type, and the detail
 * is the event with its system. Events about one task share a lane, whose requests are sent one after the other.
 */
export function createEventBridge(client: EventBridgeClient, address: EventBusAddress): Events {
  return {
    publish: async events => {
      const outgoing = events.map((event, index) => ({ event, index }))
      const lanes = groupBy(outgoing, ({ event: { taskId, id } }) =>
        events.length <= ENTRIES_MAX ? 0 : hash32(taskId ?? id) % LANES,
      )
      const failures = await Promise.all([...lanes.values()].map(lane => sendLane(client, address, lane)))
      return failures.flat()
    },
  }
}

/** Sends one lane. After a request that fails it does not try the rest: those events would overtake the failed ones. */
async function sendLane(
  client: EventBridgeClient,
  address: EventBusAddress,
  lane: readonly Outgoing[],
): Promise<SendFailure[]> {
  const failures: SendFailure[] = []
  for (let at = 0; at < lane.length; at += ENTRIES_MAX) {
    const batch = lane.slice(at, at + ENTRIES_MAX)
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

/** Error codes of outages. All other codes refuse the entry itself. Source: EventBridge API reference, PutEventsResultEntry. */
const RETRYABLE = /^Internal|Throttl|Unavailable/

/** Whether another try may succeed. False only when the service answers that the request itself is wrong. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof EventBridgeServiceException)) return true
  const status = error.$metadata.httpStatusCode ?? 500
  return status >= 500 || status === 429 || error.$retryable !== undefined || RETRYABLE.test(error.name)
}
