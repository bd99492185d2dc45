/**
 * Lambda: each function runs in its own processes (`sandbox.ts`, started with `bootstrap.ts`), one per concurrent invocation
 * (`pool.ts`). `spec.ts` reads a function from the template, and `protocol.ts` has the messages of its processes. `lineage.ts`
 * counts the invocations in a chain of messages, and `lambda-api.ts` answers the Invoke call.
 */

import type { Meter } from '../gateway/meter.ts'
import type { Stack } from '../template/stack.ts'
import type { Assembly } from '../template/template.ts'
import { invocationsIn, isLoop, nextInChain } from './lineage.ts'
import { ANSWER_BYTES_MAX, payloadBytes } from './payload-limits.ts'
import { createPool, type Pool } from './pool.ts'
import type { InvocationResult } from './sandbox.ts'
import { functionSpecOf, maxSandboxesOf, memoryMbOf, timeoutMsOf } from './spec.ts'

const LINES_KEPT = 1000

/** Lambda retries an asynchronous invocation after one minute, then after two more. */
const ASYNC_RETRY_DELAYS_MS = [60_000, 120_000]

export type LocalFunction = {
  readonly logicalId: string
  readonly name: string
  readonly arn: string
  readonly timeoutMs: number
  /** How many processes the function may have. */
  readonly maxProcesses: number
  /**
   * Invokes the function and waits. A failure is a result, never an exception. `trace` is the header of the request's chain;
   * without one a new chain begins.
   */
  invoke(event: unknown, trace?: string): Promise<InvocationResult>
  /**
   * Whether Lambda refuses the next invocation in this chain: the chain has 16 invocations of the function, and the function's
   * `RecursiveLoop` is not `Allow`. The method counts and logs a refusal.
   */
  refuses(trace: string | undefined): boolean
  /** How many invocations were refused as a loop, like CloudWatch's `RecursiveInvocationsDropped`. */
  readonly recursionsDropped: () => number
  /** The largest number of invocations of the function in one chain. */
  readonly longestChain: () => number
  /** Invokes the function without waiting. A failure is retried as the function's `EventInvokeConfig` says (twice by default). */
  invokeLater(event: unknown, trace?: string): void
  pids(): number[]
  /** Starts this many processes ahead of the first invocations. */
  warm(count: number): Promise<void>
  /** The last lines that the function has written, oldest first. */
  readonly logs: readonly string[]
  stop(): Promise<void>
}

export type Functions = {
  all(): LocalFunction[]
  /** Finds a function by logical id, ARN, name, or a part of the logical id that only one function has. */
  find(wanted: string): LocalFunction
  stop(): Promise<void>
}

type Setting = {
  readonly maxSandboxes: number
  readonly environment: Readonly<Record<string, string>>
  readonly meter: Meter
  readonly log: (line: string) => void
}

export function createFunctions(stack: Stack, assembly: Assembly, setting: Setting): Functions {
  const all = stack.ids('AWS::Lambda::Function').map(id => createFunction(id, stack, assembly, setting))
  return {
    all: () => all,
    find: wanted => findFunction(all, wanted),
    stop: async () => void (await Promise.all(all.map(one => one.stop()))),
  }
}

function createFunction(
  logicalId: string,
  stack: Stack,
  assembly: Assembly,
  setting: Setting,
): LocalFunction {
  const { physicalId: name, arn } = stack.describe(logicalId)
  const maxProcesses = maxSandboxesOf(stack, logicalId, setting.maxSandboxes)
  const memoryMb = memoryMbOf(stack, logicalId)
  const logs = keepLines(logicalId, setting)
  const retryDelays = ASYNC_RETRY_DELAYS_MS.slice(0, asyncRetriesOf(stack, name))
  const timers = new Set<NodeJS.Timeout>()
  const recursion = watchRecursion(stack, { logicalId, arn }, setting)

  // The pool is created at the first use: the environment may name values that exist only after the boot.
  let pool: Pool | undefined
  const open = () => {
    pool ??= createPool(
      functionSpecOf(stack, assembly, logicalId, setting.environment),
      maxProcesses,
      logs.add,
    )
    return pool
  }

  async function invoke(event: unknown, trace?: string) {
    const chain = recursion.enter(trace)
    const result = deliverable(await open().invoke(event, chain))
    const usageKey = { caller: logicalId, service: 'lambda', operation: 'Invoke', resource: logicalId }
    setting.meter.add(usageKey, {
      calls: 1,
      requests: 1,
      gbMs: (Math.ceil(result.durationMs) * memoryMb) / 1024,
    })
    if (!result.ok) logs.add(`${result.error.errorType}: ${result.error.errorMessage}`)
    return result
  }

  async function invokeLater(event: unknown, trace?: string, delays: readonly number[] = retryDelays) {
    const { ok } = await invoke(event, trace)
    const [delay, ...rest] = delays
    if (ok || delay === undefined) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      void invokeLater(event, trace, rest)
    }, delay)
    timers.add(timer)
  }

  return {
    logicalId,
    name,
    arn,
    maxProcesses,
    timeoutMs: timeoutMsOf(stack, logicalId),
    invoke,
    refuses: recursion.refuses,
    recursionsDropped: recursion.dropped,
    longestChain: recursion.longest,
    invokeLater: (event, trace) => void invokeLater(event, trace),
    pids: () => pool?.pids() ?? [],
    warm: count => open().warm(count),
    logs: logs.lines,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer)
      await pool?.stop()
    },
  }
}

/** An answer that is too large to deliver counts as a failure of the function. */
function deliverable(result: InvocationResult): InvocationResult {
  if (!result.ok || payloadBytes(result.payload) <= ANSWER_BYTES_MAX) return result
  const { requestId, durationMs } = result
  const errorMessage = `Response payload size exceeded maximum allowed payload size (${ANSWER_BYTES_MAX} bytes).`
  return {
    requestId,
    durationMs,
    ok: false,
    error: { errorType: 'Function.ResponseSizeTooLarge', errorMessage },
  }
}

/** Counts a function's invocations in each chain of requests. Lambda ends a loop by default. */
function watchRecursion(
  stack: Stack,
  { logicalId, arn }: Pick<LocalFunction, 'logicalId' | 'arn'>,
  { log }: Setting,
) {
  const isAllowed = stack.read(logicalId, 'RecursiveLoop') === 'Allow'
  let dropped = 0
  let longest = 0
  return {
    dropped: () => dropped,
    longest: () => longest,
    /** Returns the chain with the invocation that begins now. */
    enter: (trace: string | undefined) => {
      const chain = nextInChain(trace, arn)
      longest = Math.max(longest, invocationsIn(chain, arn))
      return chain
    },
    refuses: (trace: string | undefined) => {
      if (isAllowed || !isLoop(trace, arn)) return false
      dropped += 1
      const message = `Lambda refuses to invoke ${logicalId}: this chain of requests has invoked the function 16 times (RecursiveInvocationException)`
      log(JSON.stringify({ level: 'ERROR', message, dropped, trace }))
      return true
    },
  }
}

function keepLines(logicalId: string, { log, meter }: Setting) {
  const lines: string[] = []
  const usageKey = { caller: logicalId, service: 'logs', operation: 'PutLogEvents', resource: '' }
  return {
    lines,
    add: (line: string) => {
      log(`${logicalId}: ${line}`)
      lines.push(line)
      if (lines.length > LINES_KEPT) lines.shift()
      meter.add(usageKey, { calls: 1, logBytes: Buffer.byteLength(line) })
    },
  }
}

function asyncRetriesOf(stack: Stack, functionName: string) {
  const config = stack
    .ids('AWS::Lambda::EventInvokeConfig')
    .find(id => stack.read(id, 'FunctionName') === functionName)
  return config === undefined ? undefined : (stack.read(config, 'MaximumRetryAttempts') as number | undefined)
}

function findFunction(all: readonly LocalFunction[], wanted: string): LocalFunction {
  const exact = all.find(({ logicalId, arn, name }) => [logicalId, arn, name].includes(wanted))
  if (exact) return exact
  const lower = wanted.toLowerCase()
  const [only, second] = all.filter(({ logicalId }) => logicalId.toLowerCase().includes(lower))
  if (only && !second) return only
  const names = all.map(({ logicalId }) => logicalId).join(', ')
  throw new Error(
    `${second ? 'Several functions match' : 'There is no function'} ${wanted}; there are ${names}`,
  )
}
