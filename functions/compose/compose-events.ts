import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { SQSClient } from '@aws-sdk/client-sqs'
import { requiredVariable } from '../../shared/aws/environment.ts'
import { createEventBridge } from '../../shared/aws/event-bus.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createLateEventQueue } from '../../shared/aws/sqs/messages.ts'
import type { System } from '../../shared/runtime/kernel/system.ts'
import type { EventSystem } from '../../shared/runtime/stream/events.ts'

/** Each of the two attempts may take 1 s. The waker publishes the remaining events later, so that the bus delays no planning. */
const BUS_TIMEOUTS = { connectionTimeout: 500, requestTimeout: 1_000, throwOnRequestTimeout: true }

/**
 * Composes the system of a function that publishes events. This file is separate from `compose.ts`, so that other functions
 * do not load the EventBridge client.
 */
export function composeEventSystem({ types, clock, log }: System): EventSystem {
  const client = new EventBridgeClient({ requestHandler: BUS_TIMEOUTS, maxAttempts: 2 })
  return {
    types,
    clock,
    log,
    events: createEventBridge(client, {
      bus: requiredVariable('BATON_EVENT_BUS'),
      system: requiredVariable('BATON_SYSTEM'),
    }),
    lateEventQueue: createLateEventQueue(
      withConnectionQueue(requestHandler => new SQSClient({ requestHandler })),
      requiredVariable('BATON_WAKE_QUEUE_URL'),
    ),
    scope: process.env.BATON_EVENTS === 'all' ? 'all' : 'types',
  }
}
