import type { Meter } from '../gateway/meter.ts'
import type { Assembly } from '../template/assembly.ts'
import type { Stack } from '../template/stack.ts'
import { ANSWER_BYTES_MAX, payloadBytes } from './payload-limits.ts'
import { createPool, type Pool } from './pool.ts'
import type { InvocationResult } from './sandbox.ts'
import { functionSpecOf, memoryMbOf, mostSandboxesOf, timeoutMsOf } from './spec.ts'

const LINES_KEPT = 1000

/** Lambda retries an asynchronous invocation twice, after one and after two minutes. */
const ASYNC_RETRY_DELAYS_MS = [60_000, 120_000]

export type LocalFunction = {
  readonly logicalId: string
  readonly name: string
  readonly arn: string
  readonly timeoutMs: number
  /** How many processes it may have. */
  readonly most: number
  /** Runs it and waits; a failure is a result, never an exception. */
  invoke(event: unknown, traceId?: string): Promise<InvocationResult>
  /** Runs it without waiting for the outcome; retried as its `EventInvokeConfig` says (twice by default). */
  invokeLater(event: unknown): void
  pids(): number[]
  /** Starts that many processes ahead of the first invocations. */
  warm(count: number): Promise<void>
  /** The last lines it wrote to its output, oldest first. */
  readonly logs: readonly string[]
  stop(): Promise<void>
}

export type Functions = {
  all(): LocalFunction[]
  /** By logical id, by ARN, by name, or by a part of the logical id that only one function has. */
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
  const most = mostSandboxesOf(stack, logicalId, setting.maxSandboxes)
  const memoryMb = memoryMbOf(stack, logicalId)
  const logs = keepLines(logicalId, setting)
  const retryDelays = ASYNC_RETRY_DELAYS_MS.slice(0, asyncRetriesOf(stack, name))
  const timers = new Set<NodeJS.Timeout>()

  // Opened on first use: an environment may name values that only exist once the cloud has booted.
  let pool: Pool | undefined
  const open = () => {
    pool ??= createPool(functionSpecOf(stack, assembly, logicalId, setting.environment), most, logs.add)
    return pool
  }

  async function invoke(event: unknown, traceId?: string) {
    const result = deliverable(await open().invoke(event, traceId))
    const place = { caller: logicalId, service: 'lambda', operation: 'Invoke', resource: logicalId }
    setting.meter.add(place, {
      calls: 1,
      requests: 1,
      gbMs: (Math.ceil(result.durationMs) * memoryMb) / 1024,
    })
    if (!result.ok) logs.add(`${result.error.errorType}: ${result.error.errorMessage}`)
    return result
  }

  async function invokeLater(event: unknown, delays: readonly number[] = retryDelays) {
    const { ok } = await invoke(event)
    const [delay, ...rest] = delays
    if (ok || delay === undefined) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      void invokeLater(event, rest)
    }, delay)
    timers.add(timer)
  }

  return {
    logicalId,
    name,
    arn,
    most,
    timeoutMs: timeoutMsOf(stack, logicalId),
    invoke,
    invokeLater: event => void invokeLater(event),
    pids: () => pool?.pids() ?? [],
    warm: count => open().warm(count),
    logs: logs.lines,
    stop: async () => {
      for (const timer of timers) clearTimeout(timer)
      await pool?.stop()
    },
  }
}

/** An answer that is too large to be delivered counts as the function's failure. */
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

function keepLines(logicalId: string, { log, meter }: Setting) {
  const lines: string[] = []
  const place = { caller: logicalId, service: 'logs', operation: 'PutLogEvents', resource: '' }
  return {
    lines,
    add: (line: string) => {
      log(`${logicalId}: ${line}`)
      lines.push(line)
      if (lines.length > LINES_KEPT) lines.shift()
      meter.add(place, { calls: 1, logBytes: Buffer.byteLength(line) })
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
