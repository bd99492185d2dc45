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
  /** Serves the buses of a stack. Events and their readers outlive deployments. */
  deploy(stack: Stack): void
  /** The stream of events; undefined while the stack has no bus. */
  stream(): RequestHandler | undefined
}

/** Variables with which functions and services publish the events of all types, even of types that ask for none. */
export function eventsEnvironment(stack: Stack): Readonly<Record<string, string>> {
  return busesOf(stack).length > 0 ? { BATON_EVENTS: 'all' } : {}
}

/** Puts EventBridge behind the gateway. */
export function serveEvents(gateway: Pick<Gateway, 'serve'>): LocalEvents {
  const log = createEventLog(KEPT_EVENTS)
  const stream = createEventStream(log)
  let buses: readonly string[] = []
  return {
    deploy: stack => {
      buses = busesOf(stack)
      if (buses.length > 0) gateway.serve('events', createEventBus(log, buses))
    },
    stream: () => (buses.length > 0 ? stream : undefined),
  }
}

/** The names and ARNs of the buses of a stack. */
function busesOf(stack: Stack): string[] {
  return stack
    .ids('AWS::Events::EventBus')
    .map(id => stack.describe(id))
    .flatMap(({ physicalId, arn }) => [physicalId, arn])
}
