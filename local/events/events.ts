/**
 * EventBridge: this file takes the events of a stack, and `event-stream.ts` keeps the last ones and sends them
 * to readers of `GET /v1/events`.
 */

import { randomUUID } from 'node:crypto'
import { type Backend, bodyOf, errorAnswer, jsonAnswer } from '../gateway/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'
import { createEventLog, createEventStream, type EventLog } from './event-stream.ts'

const KEPT_EVENTS = 10_000

/** Variables with which functions and services publish the events of all types, even of types that ask for none. */
export function eventsEnvironment(stack: Stack): Readonly<Record<string, string>> {
  return busesOf(stack).length > 0 ? { BATON_EVENTS: 'all' } : {}
}

/** Puts EventBridge behind the gateway. */
export function serveEvents(gateway: Pick<Gateway, 'serve'>) {
  const log = createEventLog(KEPT_EVENTS)
  const stream = createEventStream(log)
  let buses: readonly string[] = []
  return {
    /** Serves the buses of a stack. Events and their readers outlive deployments. */
    deploy: (stack: Stack) => {
      buses = busesOf(stack)
      if (buses.length > 0) gateway.serve('events', createEventBus(log, buses))
    },
    /** The stream of events; undefined while the stack has no bus. */
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

/** The most entries of one request. Source: EventBridge quotas. */
const ENTRIES_MAX = 10
const REQUEST_BYTES_MAX = 256 * 1024

type Entry = {
  readonly EventBusName?: string
  readonly Source?: string
  readonly DetailType?: string
  readonly Detail?: string
}

/**
 * Serves EventBridge's PutEvents. It keeps events of the system in `log`. It accepts and drops entries of other sources, because
 * rules are not emulated. `buses` are the names and ARNs of the existing buses.
 */
export function createEventBus(log: EventLog, buses: readonly string[]): Backend {
  return async call => {
    if (call.operation !== 'PutEvents')
      return errorAnswer(400, 'InvalidAction', `${call.operation} is not supported locally`)
    const { Entries: entries } = bodyOf(call) as { Entries?: readonly Entry[] }
    if (!entries || entries.length < 1 || entries.length > ENTRIES_MAX)
      return errorAnswer(400, 'ValidationException', `Entries must have 1 to ${ENTRIES_MAX} members`)
    if (call.body.length > REQUEST_BYTES_MAX)
      return errorAnswer(
        400,
        'ValidationException',
        'Total size of the entries in the request is over the limit',
      )
    const results = entries.map(entry => acceptEntry(entry, log, buses))
    const FailedEntryCount = results.filter(result => 'ErrorCode' in result).length
    return jsonAnswer(200, { FailedEntryCount, Entries: results })
  }
}

type Result = { readonly EventId: string } | { readonly ErrorCode: string; readonly ErrorMessage: string }

function acceptEntry(entry: Entry, log: EventLog, buses: readonly string[]): Result {
  const { EventBusName: bus = 'default', Source: source, DetailType: type, Detail } = entry
  if (!source || !type || !Detail)
    return refused('InvalidArgument', 'Source, DetailType and Detail are required')
  if (!buses.includes(bus))
    return refused('InvalidArgument', `there is no bus ${bus}; there are ${buses.join(', ')}`)
  const detail = objectIn(Detail)
  if (!detail) return refused('MalformedDetail', 'Detail is not a JSON object')
  const { system: _system, ...event } = detail
  const { id, taskId } = event
  if (source === 'baton' && typeof id === 'string')
    log.append({ id, type, json: JSON.stringify(event), ...(typeof taskId === 'string' && { taskId }) })
  return { EventId: randomUUID() }
}

function refused(ErrorCode: string, ErrorMessage: string): Result {
  return { ErrorCode, ErrorMessage }
}

function objectIn(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
