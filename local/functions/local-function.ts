import { isDeepStrictEqual } from 'node:util'
import type { Meter } from '../gateway/meter.ts'
import type { LogReceiver } from '../log.ts'
import { createFunctionLog, meterInvocation } from './function-log.ts'
import { watchRecursion } from './lineage.ts'
import { createPool, retryLater } from './pool.ts'
import type { FunctionSpec, InvocationError, InvocationResult, RunInProcess } from './sandbox.ts'
import { ANSWER_BYTES_MAX, payloadBytes } from './sandbox.ts'
import { type Definition, isSameFunction } from './spec.ts'

/** A mapping loads code again after this time when it could not be loaded: the failure may come from outside. */
export const RELOAD_DELAY_MS = 5_000

export type LocalFunction = Omit<DeployedFunction, 'definition' | 'become' | 'leave' | 'stop'>

/** The problem is why the new code does not load. `isLive` says whether it is the code of the function all the same. */
type Replaced = { readonly problem?: InvocationError; readonly isLive: boolean }

/** A function with the methods that only its registry may call. */
export type DeployedFunction = ReturnType<typeof createLocalFunction>

export type FunctionSetting = {
  readonly meter: Meter
  readonly log: LogReceiver
  /**
   * Gives the folder with a function's code. It is called when the function starts its first process, and again after a deployment
   * that has changed the function's code in the template. Undefined stands for the code in the template. When the promise
   * rejects, the invocation fails with the reason, its messages wait, and the next process asks again.
   */
  code?(logicalId: string, metadata: Definition['metadata']): Promise<string> | undefined
  /** Receives the runs of tasks that were under way in a process that has ended by itself. */
  onRunsDied?(runs: readonly RunInProcess[], reason: string): void
  /**
   * The function, by its logical id, that a debugger may attach to, and the port on 127.0.0.1. It runs in one process at a time,
   * and its invocations have no timeout. The lease of a task still ends while its run is stopped at a breakpoint.
   */
  readonly inspect?: { readonly functionId: string; readonly port: number }
}

export function createLocalFunction(first: Definition, setting: FunctionSetting) {
  const parts = partsOf(first, setting)
  const { present, pool, code, changes, later, maxProcesses } = parts
  const endBy = async (end: () => Promise<void>) => {
    later.stop()
    const ended = end()
    changes.announce()
    await ended
  }
  const registered = {
    /** From now on the function is as `next` describes it. Its processes stay if nothing about them has changed. */
    become: (next: Definition) => {
      const before = present.definition
      present.definition = next
      code.follow(before)
      if (!isSameFunction(before, next)) renew(parts)
    },
    /** Takes no more invocations. Resolves when those under way have ended. */
    leave: () => endBy(pool.leave),
    /** Ends all processes at once. */
    stop: () => endBy(pool.stop),
  }
  const described = describing(() => present.definition, maxProcesses)
  return Object.assign(described, callsOf(parts, setting), registered)
}

function callsOf(parts: Parts, setting: FunctionSetting) {
  const { present, pool, changes, later, recursion, logs } = parts
  const run = (event: unknown, trace?: string) => invoke(parts, setting, event, trace)
  return {
    /**
     * Invokes the function and waits. A failure is a result, never an exception. `trace` is the header of the request's chain;
     * without one a new chain begins.
     */
    invoke: run,
    /**
     * Whether Lambda refuses the next invocation in this chain: the chain has 16 invocations of the function, and the function's
     * `RecursiveLoop` is not `Allow`. The method counts and logs a refusal.
     */
    refuses: recursion.refuses,
    /** How many invocations were refused as a loop, like CloudWatch's `RecursiveInvocationsDropped`. */
    recursionsDropped: recursion.dropped,
    longestChain: recursion.longest,
    /** Invokes the function without waiting. A failure is retried as the function's `EventInvokeConfig` says (twice by default). */
    invokeLater: (event: unknown, trace?: string) =>
      later.run(() => run(event, trace), present.definition.retryDelaysMs),
    pids: pool.pids,
    /** Starts this many processes ahead of the first invocations. */
    warm: pool.warm,
    /** The last lines that the function has written, oldest first. */
    logs: logs.lines,
    /**
     * Loads the code in this folder in a new process, and runs it from then on. Invocations under way end in their processes, on the code
     * that they began with. One that is older than 30 s is asked to stop (SIGTERM), and Baton's executors then release their runs. Code that
     * does not load replaces nothing, unless the function has no code that has ever loaded.
     */
    replaceCode: (folder: string) => replaceCode(parts, folder),
    /** Resolves when the function gets other code or settings, or after `ms`. */
    changed: changes.next,
  }
}

function renew({ logs, pool, changes }: Parts): void {
  logs.forgetFailure()
  pool.renew()
  changes.announce()
}

async function replaceCode(parts: Parts, folder: string): Promise<Replaced> {
  const { present, pool, code, changes, logs } = parts
  const { definition } = present
  const problem = await pool.replace({ ...definition, codeDir: folder }, () => {
    code.replace(folder)
    logs.forgetFailure()
    return !present.isInspected && isSameFunction(definition, present.definition)
  })
  if (problem && pool.hasLoaded()) return { problem, isLive: false }
  if (problem) code.replace(folder)
  if (problem) renew(parts)
  else changes.announce()
  return { ...(problem && { problem }), isLive: true }
}

type Parts = ReturnType<typeof partsOf>

/** The parts of a function. Each reads the present definition, which a deployment changes. */
function partsOf(first: Definition, setting: FunctionSetting) {
  const { inspect } = setting
  const inspectPort = inspect?.functionId === first.logicalId ? inspect.port : undefined
  const present = { definition: first, isInspected: inspectPort !== undefined }
  const definition = () => present.definition
  const maxProcesses = () => (inspectPort === undefined ? definition().maxProcesses : 1)
  const logs = createFunctionLog(first.logicalId, setting)
  const code = chosenCode(definition, setting)
  const pool = createPool({
    source: async (): Promise<FunctionSpec> => {
      const codeDir = await code.folder()
      return { ...definition(), codeDir, ...(inspectPort !== undefined && { inspectPort }) }
    },
    maxProcesses,
    waitsForOldProcesses: inspectPort !== undefined,
    isMostlyIdle: () => definition().servesDeployments,
    onLine: logs.add,
  })
  const recursion = watchRecursion(definition, setting.log)
  return { present, maxProcesses, logs, code, pool, recursion, later: retryLater(), changes: createSignal() }
}

async function invoke(
  { present: { definition }, recursion, pool, logs }: Parts,
  { meter, onRunsDied }: FunctionSetting,
  event: unknown,
  trace: string | undefined,
): Promise<InvocationResult> {
  if (definition.unsupported !== undefined) return refused(definition.unsupported)
  const chain = recursion.enter(trace)
  const result = deliverable(await pool.invoke(event, chain))
  meterInvocation(meter, definition, result.durationMs, meter.owners.ofInvocation(event, chain))
  if (result.ok) return result
  logs.addFailure(result.error)
  const { runs = [], errorMessage } = result.error
  if (runs.length > 0) onRunsDied?.(runs, errorMessage)
  return result
}

/** Whether this is a function's logical id, name or ARN, with or without the qualifier of an alias or version. */
export function isNameOf(
  { logicalId, name, arn }: Pick<Definition, 'logicalId' | 'name' | 'arn'>,
  wanted: string,
): boolean {
  return [logicalId, name, arn].some(known => wanted === known || wanted.startsWith(`${known}:`))
}

/** The properties of a function, as its present definition has them. */
function describing(definition: () => Definition, maxProcesses: () => number) {
  const { logicalId } = definition()
  return {
    logicalId,
    get name() {
      return definition().name
    },
    get arn() {
      return definition().arn
    },
    /** Whether this is the function's logical id, its name, or its ARN, with an alias or a version or without. */
    hasName: (wanted: string) => isNameOf(definition(), wanted),
    get timeoutMs() {
      return definition().timeoutMs
    },
    get maxProcesses() {
      return maxProcesses()
    },
    get unsupported() {
      return definition().unsupported
    },
    get definition() {
      return definition()
    },
  }
}

/** A signal that several waits end at. */
export function createSignal() {
  const waiting = new Set<() => void>()
  return {
    announce: () => {
      for (const wake of [...waiting]) wake()
    },
    next: (ms: number) =>
      new Promise<void>(resolve => {
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        waiting.add(wake)
      }),
  }
}

/** The folder of a function's code: the one that replaced it, the one that `setting.code` gives, or the template's own. */
function chosenCode(definition: () => Definition, { code }: FunctionSetting) {
  let chosen: Promise<string> | undefined

  return {
    folder: (): Promise<string> => {
      if (chosen) return chosen
      const { logicalId, metadata, codeDir } = definition()
      const given = code?.(logicalId, metadata)
      chosen = given
      // A failure is not kept: the next process asks again.
      given?.catch(() => {
        if (chosen === given) chosen = undefined
      })
      return given ?? Promise.resolve(codeDir)
    },
    replace: (folder: string) => {
      chosen = Promise.resolve(folder)
    },
    /** A change of the code in the template ends the choice. */
    follow: (before: Definition) => {
      if (!isDeepStrictEqual(before.code, definition().code)) chosen = undefined
    },
  }
}

function refused(reason: string): InvocationResult {
  const error = { errorType: 'Local.NotSupported', errorMessage: `The function does not run here: ${reason}` }
  return { ok: false, error, requestId: '', durationMs: 0 }
}

/** An answer that is too large to deliver counts as a failure of the function. */
function deliverable(result: InvocationResult): InvocationResult {
  if (!result.ok || payloadBytes(result.payload) <= ANSWER_BYTES_MAX) return result
  const { requestId, durationMs } = result
  const errorMessage = `Response payload size exceeded maximum allowed payload size (${ANSWER_BYTES_MAX} bytes).`
  const error = { errorType: 'Function.ResponseSizeTooLarge', errorMessage }
  return { requestId, durationMs, ok: false, error }
}
