import { EventBridgeClient } from '@aws-sdk/client-eventbridge'
import { SQSClient } from '@aws-sdk/client-sqs'
import { requiredVariable } from '../../shared/aws/environment.ts'
import { createEventBridge } from '../../shared/aws/eventbridge/events.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createLateEventQueue } from '../../shared/aws/sqs/late-box.ts'
import type { EventSystem } from '../../shared/runtime/events/publish-late-events.ts'
import type { System } from '../../shared/runtime/kernel/system.ts'

/** What is not told within two seconds is told later: whoever tells has other things to do. */
const BUS_LIMITS = { connectionTimeout: 500, requestTimeout: 1_000, throwOnRequestTimeout: true }

/** The world of those who tell events; apart from `compose.ts`, so that others do not load EventBridge's client. */
export function composeEventSystem({ types, clock, log }: System): EventSystem {
  const client = new EventBridgeClient({ requestHandler: BUS_LIMITS, maxAttempts: 2 })
  return {
    types,
    clock,
    log,
    events: createEventBridge(client, {
      bus: requiredVariable('BATON_EVENT_BUS'),
      system: requiredVariable('BATON_SYSTEM'),
    }),
    lateBox: createLateEventQueue(
      withConnectionQueue(requestHandler => new SQSClient({ requestHandler })),
      requiredVariable('BATON_WAKE_QUEUE_URL'),
    ),
    scope: process.env.BATON_EVENTS === 'all' ? 'all' : 'types',
  }
}
