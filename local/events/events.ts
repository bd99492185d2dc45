/**
 * EventBridge: `event-bus.ts` takes the events of a stack, `event-log.ts` keeps the last ones, and `event-stream.ts` sends them
 * to readers of `GET /v1/events`.
 */

import type { Gateway } from '../gateway/gateway.ts'
import type { RequestHandler } from '../http/answer.ts'
import type { Stack } from '../template/stack.ts'
import { createEventBus } from './event-bus.ts'
import { createEventLog } from './event-log.ts'
import { createEventStream } from './event-stream.ts'

const KEPT_EVENTS = 10_000

export type LocalEvents = {
  readonly stream: RequestHandler
  /** Variables with which functions and services publish the events of all types, even of types that ask for none. */
  readonly environment: Readonly<Record<string, string>>
}

/** Puts the event buses of a stack behind the gateway. Returns undefined when the stack has none. */
export function serveEvents(stack: Stack, gateway: Pick<Gateway, 'serve'>): LocalEvents | undefined {
  const buses = stack.ids('AWS::Events::EventBus').map(id => stack.describe(id))
  if (buses.length === 0) return undefined
  const log = createEventLog(KEPT_EVENTS)
  gateway.serve(
    'events',
    createEventBus(
      log,
      buses.flatMap(({ physicalId, arn }) => [physicalId, arn]),
    ),
  )
  return { stream: createEventStream(log), environment: { BATON_EVENTS: 'all' } }
}
