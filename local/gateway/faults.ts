import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type Backend, bodyOf, type Call, errorAnswer, jsonAnswer } from './call.ts'

/** A fault that a test puts between callers and a service. A selector that is absent matches everything. */
type Fault = {
  readonly caller?: string
  readonly service: string
  readonly operation?: string
  /** Whether the fault hits a request with this JSON body. */
  matches?(body: Record<string, unknown>): boolean
  /**
   * `drop`: answer success and do nothing. `fail-before`: answer 500 and do nothing. `fail-after`: make the call, then answer 500.
   * `throttle`: answer the service's throttling error. `delay`: wait `delayMs`, then make the call.
   */
  readonly action: 'drop' | 'fail-before' | 'fail-after' | 'throttle' | 'delay'
  readonly delayMs?: number
  /** How many calls the fault hits. @default all */
  readonly times?: number
}

export type Faults = ReturnType<typeof createFaults>

type Armed = { readonly fault: Fault; hits: number }

export function createFaults() {
  const armed = new Set<Armed>()

  return {
    /** Adds a fault. The returned function removes it and returns how many calls it hit. */
    add: (fault: Fault) => {
      const entry = { fault, hits: 0 }
      armed.add(entry)
      return () => {
        armed.delete(entry)
        return entry.hits
      }
    },
    clear: () => armed.clear(),
    /** Wraps a service so that calls meet the faults first. */
    around:
      (backend: Backend): Backend =>
      call => {
        // Without faults a call costs one comparison.
        if (armed.size === 0) return backend(call)
        const entry = [...armed].find(({ fault }) => isHit(fault, call))
        if (!entry) return backend(call)
        entry.hits += 1
        if (entry.hits === entry.fault.times) armed.delete(entry)
        return apply(entry.fault, call, backend)
      },
  }
}

function isHit(fault: Fault, call: Call) {
  if (fault.service !== call.service) return false
  if (fault.operation !== undefined && fault.operation !== call.operation) return false
  if (fault.caller !== undefined && fault.caller !== call.caller) return false
  return fault.matches?.(bodyOf(call)) ?? true
}

async function apply(fault: Fault, call: Call, backend: Backend): Promise<Answer> {
  if (fault.delayMs !== undefined) await sleep(fault.delayMs)
  switch (fault.action) {
    case 'drop':
      return pretendSuccess(call)
    case 'fail-before':
      return outage()
    case 'fail-after':
      await backend(call)
      return outage()
    case 'throttle':
      return throttled(call)
    case 'delay':
      return backend(call)
  }
}

const outage = () => errorAnswer(500, 'InternalServerError', 'A fault was injected here')

function throttled({ service }: Call) {
  const code = service === 'sqs' ? 'RequestThrottled' : 'ThrottlingException'
  return errorAnswer(service === 'scheduler' ? 429 : 400, code, 'Rate exceeded (a fault was injected here)')
}

type SendEntry = { readonly Id?: string; readonly MessageBody?: string }

/** An answer as if the call had succeeded. It has the digests of sent messages, because the SDK checks them. */
function pretendSuccess(call: Call) {
  const body = bodyOf(call)
  const entries = (body.Entries ?? []) as readonly SendEntry[]
  switch (call.operation) {
    case 'SendMessage':
      return jsonAnswer(200, receiptOf(body as SendEntry))
    case 'SendMessageBatch':
      return jsonAnswer(200, {
        Successful: entries.map(entry => ({ Id: entry.Id, ...receiptOf(entry) })),
        Failed: [],
      })
    case 'DeleteMessageBatch':
    case 'ChangeMessageVisibilityBatch':
      return jsonAnswer(200, { Successful: entries.map(({ Id }) => ({ Id })), Failed: [] })
    case 'PutEvents':
      return jsonAnswer(200, { FailedEntryCount: 0, Entries: entries.map(() => ({ EventId: randomUUID() })) })
    case 'CreateSchedule':
    case 'UpdateSchedule':
      return jsonAnswer(200, { ScheduleArn: `arn:aws:scheduler:dropped:${call.path}` })
    default:
      return jsonAnswer(200, {})
  }
}

const receiptOf = ({ MessageBody = '' }: SendEntry) => ({
  MessageId: randomUUID(),
  MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
})
