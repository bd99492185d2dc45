import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readLines } from '../log.ts'

/** A function as its resource in the template describes it. */
export type FunctionSpec = {
  readonly logicalId: string
  readonly name: string
  readonly arn: string
  readonly codeDir: string
  /** The compile cache that the processes of a function share. */
  readonly compileCacheDir: string
  readonly handler: string
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly environment: Readonly<Record<string, string>>
  /** The port on loopback at which a debugger may attach. Invocations then have no timeout. */
  readonly inspectPort?: number
}

export type InvocationResult = {
  readonly requestId: string
  readonly durationMs: number
} & (
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: InvocationError }
)

/** One process of a function. It serves one invocation at a time, as a Lambda sandbox does. */
export type Sandbox = ReturnType<typeof startSandbox>

/** A run of a task in a function's process. */
export type RunInProcess = { readonly taskId: string; readonly runId: string }

type Running = { readonly requestId: string; readonly begun: number; finish(outcome: Outcome): void }
type Outcome = { ok: true; payload: unknown } | { ok: false; error: InvocationError }

/** Lambda's smallest memory. Node itself needs about as much. */
const HEAP_MB_MIN = 128

/** Half of the heap's part for new objects. Node's default of 16 MB lets each process keep 12 MB more of what it no longer needs. */
const YOUNG_HEAP_MB = 2

/** The heap grows in smaller steps, and is collected sooner: some 5 MB less in each busy process. */
const SMALL_HEAP = '--optimize-for-size'

/** With one arena, and with free pages given back, glibc keeps 5 MB less in each process. Other systems ignore the variables. */
const SMALL_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '65536' }

/** An invocation on replaced code may last this long. Then its process gets SIGTERM, if the function answers that. */
const RETIRED_RUN_MS = 30_000
/** The time from SIGTERM to SIGKILL: a handler may ignore its signal, and its runs are still released within seconds. */
const STOP_GRACE_MS = 20_000
/** The timeout of an invocation that a debugger may stop at any line. */
const DEBUGGED_TIMEOUT_MS = 24 * 60 * 60_000

type State = {
  readonly spec: FunctionSpec
  readonly child: ChildProcess
  running: Running | undefined
  /** The runs of tasks under way, as the function has announced them. */
  runs: readonly RunInProcess[]
  isAlive: boolean
  stopsOnSignal: boolean
  stopping: NodeJS.Timeout | undefined
}

export function startSandbox(spec: FunctionSpec, onLine: (line: string) => void) {
  const child = spawnRuntime(spec)
  const state: State = {
    ...{ spec, child, running: undefined, runs: [] },
    ...{ isAlive: true, stopsOnSignal: false, stopping: undefined },
  }
  const started = Promise.withResolvers<InvocationError | undefined>()
  const ended = Promise.withResolvers<void>()
  readLines(child, onLine)
  child.on('message', (message: SandboxMessage) => {
    if (message.kind === 'runs') state.runs = message.runs
    else if (message.kind === 'init-failed') {
      // If the code has a stand-in, it runs one invocation. The next invocation tries the code again.
      state.isAlive = false
      started.resolve(message.error)
    } else if (message.kind === 'ready') {
      state.stopsOnSignal = message.stopsOnSignal
      started.resolve(undefined)
    } else answer(state, message)
  })
  onEndOf(child, reason => {
    state.isAlive = false
    clearTimeout(state.stopping)
    const error = { errorType: 'Runtime.ExitError', errorMessage: reason, runs: state.runs }
    started.resolve(error)
    state.running?.finish({ ok: false, error })
    ended.resolve()
  })
  return {
    pid: child.pid,
    /** Resolves to the reason if the function could not be loaded, else to undefined. */
    started: started.promise,
    ended: ended.promise,
    /** Whether the process can take another invocation. */
    alive: () => state.isAlive,
    invoke: (event: unknown, traceId: string) => invoke(state, event, traceId),
    /** Takes no more invocations, and ends when the present one has ended. A long one is asked to stop. */
    retire: () => retire(state),
    kill: () => kill(state),
  }
}

/** An answer that comes after its invocation's timeout is ignored. */
function answer({ running }: State, message: Extract<SandboxMessage, { requestId: string }>): void {
  if (message.requestId !== running?.requestId) return
  const failed = message.kind === 'error'
  running.finish(failed ? { ok: false, error: message.error } : { ok: true, payload: message.payload })
}

function invoke(state: State, event: unknown, traceId: string): Promise<InvocationResult> {
  const { spec, child } = state
  const requestId = randomUUID()
  const begun = performance.now()
  const timeoutMs = spec.inspectPort === undefined ? spec.timeoutMs : DEBUGGED_TIMEOUT_MS
  return new Promise(resolve => {
    const finish = (outcome: Outcome) => {
      clearTimeout(timer)
      state.running = undefined
      if (!state.isAlive) kill(state)
      resolve({ requestId, durationMs: performance.now() - begun, ...outcome })
    }
    const timer = setTimeout(() => {
      state.isAlive = false
      finish({ ok: false, error: timedOut(spec) })
    }, timeoutMs)
    state.running = { requestId, begun, finish }
    deliver(child, { requestId, event, traceId, timeoutMs, functionArn: spec.arn })
  })
}

function retire(state: State): void {
  state.isAlive = false
  if (!state.running) return void kill(state)
  const age = performance.now() - state.running.begun
  state.stopping = setTimeout(askToStop, Math.max(0, RETIRED_RUN_MS - age), state)
}

/** A function that does not answer SIGTERM would die of it, so it keeps its process until its timeout. */
function askToStop(state: State): void {
  if (!state.stopsOnSignal) return
  state.child.kill('SIGTERM')
  state.stopping = setTimeout(kill, STOP_GRACE_MS, state)
}

function kill(state: State): void {
  state.isAlive = false
  // The cloud ends it, so its runs have not died of themselves.
  state.runs = []
  state.child.kill('SIGKILL')
}

function onEndOf(child: ChildProcess, onEnd: (reason: string) => void) {
  child.on('error', cause => onEnd(`Runtime failed: ${cause.message}`))
  child.on('exit', (code, signal) => {
    onEnd(`Runtime exited with error: ${signal ? `signal: ${signal}` : `exit status ${code}`}`)
  })
}

// When the process has just died, its `exit` event reports that. The failed send needs no second report.
const deliver = (child: ChildProcess, request: InvocationRequest) =>
  child.connected && child.send(request, () => {})

const timedOut = ({ timeoutMs }: FunctionSpec): InvocationError => ({
  errorType: 'Sandbox.Timedout',
  errorMessage: `Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`,
})

function spawnRuntime(spec: FunctionSpec): ChildProcess {
  const bootstrap = fileURLToPath(new URL(`./bootstrap${extname(import.meta.url)}`, import.meta.url))
  const heap = `--max-old-space-size=${Math.max(HEAP_MB_MIN, spec.memoryMb)}`
  const youngHeap = `--max-semi-space-size=${YOUNG_HEAP_MB}`
  const inspect = spec.inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${spec.inspectPort}`]
  return spawn(
    process.execPath,
    [heap, youngHeap, SMALL_HEAP, ...inspect, '--disable-warning=ExperimentalWarning', bootstrap],
    {
      cwd: spec.codeDir,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // The process has its own group, so Ctrl-C at the terminal reaches only the cloud. The cloud then ends its parts in order.
      detached: true,
      env: {
        PATH: process.env.PATH,
        TZ: ':UTC',
        NODE_COMPILE_CACHE: spec.compileCacheDir,
        ...SMALL_MALLOC,
        LAMBDA_TASK_ROOT: spec.codeDir,
        _HANDLER: spec.handler,
        AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
        AWS_LAMBDA_FUNCTION_NAME: spec.name,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMb),
        AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${spec.name}`,
        AWS_LAMBDA_LOG_STREAM_NAME: 'local',
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        ...spec.environment,
      },
    },
  )
}

/** The message that the cloud sends to a function's process over IPC: one invocation at a time. */
export type InvocationRequest = {
  readonly requestId: string
  readonly event: unknown
  /** The time until the invocation's timeout. It is a duration, because the clocks of two processes may differ. */
  readonly timeoutMs: number
  readonly functionArn: string
  readonly traceId: string
}

export type InvocationError = {
  readonly errorType: string
  readonly errorMessage: string
  readonly trace?: readonly string[]
  /** Set when the function's code could not be loaded, so that the invocation has not begun. */
  readonly isLoadFailure?: true
  /** Set when the process has a stand-in for that code. */
  readonly hasStandIn?: boolean
  /** The runs of tasks that were under way when the process ended by itself. */
  readonly runs?: readonly RunInProcess[]
}

/** The messages that a function's process sends back. */
export type SandboxMessage =
  /** `stopsOnSignal`: the function answers SIGTERM and ends its work early. Baton's executors do. */
  | { readonly kind: 'ready'; readonly stopsOnSignal: boolean }
  | { readonly kind: 'init-failed'; readonly error: InvocationError }
  /** The runs of tasks under way, when they change. Baton's executors say so here, but not on AWS. */
  | { readonly kind: 'runs'; readonly runs: readonly RunInProcess[] }
  | { readonly kind: 'result'; readonly requestId: string; readonly payload: unknown }
  | { readonly kind: 'error'; readonly requestId: string; readonly error: InvocationError }

/**
 * The largest payloads of Lambda, in bytes as its API counts them.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */

/** "Request must be smaller than 6291456 bytes for the InvokeFunction operation" */
export const EVENT_BYTES_MAX = 6_291_456
export const LATER_EVENT_BYTES_MAX = 1024 * 1024
/** "Response payload size exceeded maximum allowed payload size (6291556 bytes)." */
export const ANSWER_BYTES_MAX = 6_291_556

/** Bytes of a payload as JSON. A text in it, such as an HTTP body, counts with its escapes. */
export function payloadBytes(payload: unknown): number {
  return Buffer.byteLength(JSON.stringify(payload) ?? '')
}
