import { createHash, randomBytes } from 'node:crypto'
import type { LogReceiver } from '../log.ts'
import type { Definition } from './spec.ts'

/**
 * Lambda's detection of recursive loops. The trace header of a request identifies its chain. `Lineage=1a2b3c4d:3|5e6f7a8b:1` in it counts
 * the invocations of each function in the chain. The SDK adds the header from `_X_AMZN_TRACE_ID` to every call, and SQS keeps it with the
 * message. The invocation by that message continues the count. Table streams and schedules carry no header, so a chain ends there. Source:
 * Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".
 */

/** After this many invocations of a function in one chain, Lambda refuses the next one. */
const CHAIN_INVOCATIONS_MAX = 16

const FIELD = 'Lineage='

/** The trace header of a new chain. */
export function newTrace(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16)
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')};Parent=${randomBytes(8).toString('hex')};Sampled=0`
}

function invocationsIn(trace: string | undefined, functionArn: string): number {
  return lineageOf(trace).get(nameOf(functionArn)) ?? 0
}

/** Whether Lambda refuses to invoke the function once more in this chain. */
function isLoop(trace: string | undefined, functionArn: string): boolean {
  return invocationsIn(trace, functionArn) >= CHAIN_INVOCATIONS_MAX
}

/** The header of the next invocation. The calls that the invocation makes carry it too. */
function nextInChain(trace: string | undefined, functionArn: string): string {
  const lineage = new Map(lineageOf(trace))
  lineage.set(nameOf(functionArn), invocationsIn(trace, functionArn) + 1)
  return withLineage(trace ?? newTrace(), lineage)
}

/**
 * One header for a batch of messages: the first message's header with the highest count of each function. An invocation has one
 * trace, so its own messages continue the longest chain of its batch.
 */
export function joinedTrace(traces: readonly (string | undefined)[]): string | undefined {
  const [first, ...others] = traces.filter(trace => trace !== undefined)
  if (first === undefined || others.length === 0) return first
  const longest = new Map<string, number>()
  for (const trace of [first, ...others]) {
    for (const [name, count] of lineageOf(trace)) longest.set(name, Math.max(count, longest.get(name) ?? 0))
  }
  return withLineage(first, longest)
}

function withLineage(trace: string, lineage: ReadonlyMap<string, number>): string {
  const others = trace.split(';').filter(field => !field.startsWith(FIELD))
  const counts = [...lineage].map(([name, count]) => `${name}:${count}`)
  return counts.length > 0 ? [...others, FIELD + counts.join('|')].join(';') : others.join(';')
}

function lineageOf(trace = ''): ReadonlyMap<string, number> {
  const field = trace.split(';').find(one => one.startsWith(FIELD))
  const counts = field?.slice(FIELD.length).split('|') ?? []
  return new Map(counts.map(entry => entry.split(':')).map(([name = '', count]) => [name, Number(count)]))
}

function nameOf(functionArn: string): string {
  return createHash('sha256').update(functionArn).digest('hex').slice(0, 8)
}

/** Counts a function's invocations in each chain of requests. Lambda ends a loop by default. */
export function watchRecursion(definition: () => Definition, log: LogReceiver) {
  let dropped = 0
  let longest = 0
  return {
    dropped: () => dropped,
    longest: () => longest,
    /** Returns the chain with the invocation that begins now. */
    enter: (trace: string | undefined) => {
      const { arn } = definition()
      const chain = nextInChain(trace, arn)
      longest = Math.max(longest, invocationsIn(chain, arn))
      return chain
    },
    refuses: (trace: string | undefined) => {
      const { logicalId, arn, mayLoop } = definition()
      if (mayLoop || !isLoop(trace, arn)) return false
      dropped += 1
      const message = `Lambda refuses to invoke ${logicalId}: this chain of requests has invoked the function 16 times (RecursiveInvocationException)`
      log({ source: logicalId, line: JSON.stringify({ level: 'ERROR', message, dropped, trace }) })
      return true
    },
  }
}
