import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { extname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { InvocationError, InvocationRequest, SandboxMessage } from './protocol.ts'

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
}

export type InvocationResult = {
  readonly requestId: string
  readonly durationMs: number
} & (
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: InvocationError }
)

/** One process of a function. It serves one invocation at a time, as a Lambda sandbox does. */
export type Sandbox = {
  readonly pid: number | undefined
  /** Resolves to the reason if the function could not be loaded, else to undefined. */
  readonly started: Promise<InvocationError | undefined>
  readonly ended: Promise<void>
  /** Whether the process can take another invocation. */
  alive(): boolean
  invoke(event: unknown, traceId: string): Promise<InvocationResult>
  kill(): void
}

type Running = { readonly requestId: string; finish(outcome: Outcome): void }
type Outcome = { ok: true; payload: unknown } | { ok: false; error: InvocationError }

/** Lambda's smallest memory. Node itself needs about as much. */
const HEAP_MB_MIN = 128

export function startSandbox(spec: FunctionSpec, onLine: (line: string) => void): Sandbox {
  const child = spawnRuntime(spec)
  let running: Running | undefined
  let alive = true
  const started = Promise.withResolvers<InvocationError | undefined>()
  const ended = Promise.withResolvers<void>()

  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine)
  }

  child.on('message', (message: SandboxMessage) => {
    if (message.kind === 'ready') return started.resolve(undefined)
    if (message.kind === 'init-failed') return started.resolve(message.error)
    // An answer that comes after its invocation's timeout is ignored.
    if (message.requestId !== running?.requestId) return
    const failed = message.kind === 'error'
    running.finish(failed ? { ok: false, error: message.error } : { ok: true, payload: message.payload })
  })

  const kill = () => {
    alive = false
    child.kill('SIGKILL')
  }
  const gone = (reason: string) => {
    alive = false
    const error = { errorType: 'Runtime.ExitError', errorMessage: reason }
    started.resolve(error)
    running?.finish({ ok: false, error })
    ended.resolve()
  }
  child.on('error', cause => gone(`Runtime failed: ${cause.message}`))
  child.on('exit', (code, signal) => {
    gone(
      signal
        ? `Runtime exited with error: signal: ${signal}`
        : `Runtime exited with error: exit status ${code}`,
    )
  })

  function invoke(event: unknown, traceId: string): Promise<InvocationResult> {
    const requestId = randomUUID()
    const begun = performance.now()
    return new Promise(resolve => {
      const finish = (outcome: Outcome) => {
        clearTimeout(timer)
        running = undefined
        resolve({ requestId, durationMs: performance.now() - begun, ...outcome })
      }
      const timer = setTimeout(() => {
        kill()
        finish({ ok: false, error: timedOut(spec) })
      }, spec.timeoutMs)
      running = { requestId, finish }
      deliver(child, {
        requestId,
        event,
        traceId,
        timeoutMs: spec.timeoutMs,
        functionArn: spec.arn,
      })
    })
  }

  return {
    pid: child.pid,
    started: started.promise,
    ended: ended.promise,
    alive: () => alive,
    invoke,
    kill,
  }
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
  return spawn(process.execPath, [heap, '--disable-warning=ExperimentalWarning', bootstrap], {
    cwd: spec.codeDir,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // The process has its own group, so Ctrl-C at the terminal reaches only the cloud. The cloud then ends its parts in order.
    detached: true,
    env: {
      PATH: process.env.PATH,
      TZ: ':UTC',
      NODE_COMPILE_CACHE: spec.compileCacheDir,
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
  })
}
