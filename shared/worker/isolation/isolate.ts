import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Outcome } from '../../core/run/run.ts'
import { ReportedError } from '../../core/task-error/task-error.ts'
import { BatonError, illegal, type Json } from '../../core/values/values.ts'
import type { RunContext, TaskDefinition } from '../../define/definitions.ts'
import { Fatal, Next, Release, RetryLater } from '../../signals.ts'
import type { FromProcess, PlainContext, PublishAnswer, ToProcess } from './protocol.ts'

export type IsolationSettings = {
  /** The file that exports the tasks, relative to the working directory. Each run's process loads it. */
  readonly file: string
  /** Size limit of the heap of a run's process, in megabytes. @default Node's own limit */
  readonly memoryMb?: number
}

export type Isolation = {
  /** Returns the same task with a handler that runs in a process of its own. */
  isolated(definition: TaskDefinition): TaskDefinition
  /** Kills all processes that are still alive, and everything that they started. */
  end(): void
}

/** After an abort, and after the handler has returned, the process has this time to end. Then the worker kills it. */
const END_GRACE_MS = 5_000

/**
 * Runs handlers in processes of their own. The worker keeps the lease, the heartbeats and every write. A process that
 * crashes, exits or runs out of memory fails its run and nothing else. Starting the process costs 100 to 300 ms per run.
 */
export function createIsolation({ file, memoryMb }: IsolationSettings): Isolation {
  const entry = entryFile()
  const alive = new Set<ChildProcess>()
  const start = (type: string) => {
    const heap = memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`]
    const child = fork(entry, [file, type], {
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...heap],
      // A process group of its own: the terminal's signals go to the worker only, and a kill reaches the handler's children.
      detached: true,
      // On Windows a detached process would otherwise open a console window.
      windowsHide: true,
      stdio: STDIO,
    })
    alive.add(child)
    child.once('exit', () => {
      alive.delete(child)
      killGroup(child)
    })
    return child
  }
  return {
    // The process parses the input, because parsed values such as class instances cannot be sent between processes.
    isolated: ({ input: _schema, ...definition }) => ({
      ...definition,
      run: (input, context) => runInProcess(start(definition.type), input as Json | undefined, context),
    }),
    end: () => {
      for (const child of alive) killGroup(child)
    },
  }
}

/** The last entry is the process's lifeline: see watchdog.ts. */
const STDIO = ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] as const satisfies StdioOptions

/** The file next to this one: a source in the repository, compiled in the package. */
function entryFile(): string {
  // In a bundle of the user's as CommonJS, the URL is undefined.
  const here: string | undefined = import.meta.url
  const extension = here?.endsWith('.ts') ? '.ts' : '.js'
  const file = !here?.startsWith('file:') ? undefined : fileURLToPath(new URL(`./process${extension}`, here))
  if (file !== undefined && existsSync(file)) return file
  throw illegal(
    'isolate: the worker is bundled without the files that isolated runs need; leave baton-tasks out of the bundle (external)',
  )
}

async function runInProcess(
  child: ChildProcess,
  input: Json | undefined,
  context: RunContext,
): Promise<unknown> {
  const abort = () => {
    deliver(child, { kind: 'abort', reason: String(context.signal.reason?.message ?? 'the run is over') })
    killUnlessItEnds(child)
  }
  if (context.signal.aborted) abort()
  else context.signal.addEventListener('abort', abort, { once: true })
  try {
    deliver(child, { kind: 'run', input, context: plain(context) })
    return resultOf(await outcomeIn(child, context))
  } finally {
    context.signal.removeEventListener('abort', abort)
    killUnlessItEnds(child)
  }
}

function killUnlessItEnds(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(() => killGroup(child), END_GRACE_MS)
  child.once('exit', () => clearTimeout(timer))
}

/** Windows has no process groups: there, processes that a handler started outlive it. */
function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Resolves with the outcome that the process sends. Rejects when the process dies without sending one. */
function outcomeIn(child: ChildProcess, context: RunContext): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: FromProcess) => {
      if (message.kind === 'ended') resolve(message.outcome)
      else void serve(child, message, context)
    })
    child.on('error', error => reject(died(`could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      const rejectAsDied = () =>
        reject(
          died(
            signal ? `was ended by ${signal}` : `ended with exit code ${code} before the handler returned`,
          ),
        )
      // The last messages of the process may still be on their way.
      if (child.connected) child.once('disconnect', rejectAsDied)
      else rejectAsDied()
    })
  })
}

async function serve(
  child: ChildProcess,
  message: Exclude<FromProcess, { kind: 'ended' }>,
  context: RunContext,
): Promise<void> {
  switch (message.kind) {
    case 'progress':
      return context.progress(message.value)
    case 'log':
      return context.log[message.level](message.message, message.fields)
    case 'publish': {
      const answer = await context
        .publish(message.publication)
        .then(published => ({ ok: true, ...published }) satisfies PublishAnswer, refusedPublish)
      return deliver(child, { kind: 'published', call: message.call, answer })
    }
  }
}

function refusedPublish(error: Error): PublishAnswer {
  const { name, message } = error
  return { ok: false, error: { name, message }, ...(error instanceof BatonError && { code: error.code }) }
}

/** Ignores a failed send: the process has died, and its `exit` event reports that. */
function deliver(child: ChildProcess, message: ToProcess): void {
  if (child.connected) child.send(message, () => undefined)
}

function plain({
  signal: _signal,
  progress: _,
  next: _next,
  publish: _publish,
  log: _log,
  ...data
}: RunContext): PlainContext {
  return data
}

function died(how: string): Error {
  return Object.assign(new Error(`the process of the run ${how}`), { name: 'ProcessDied', stack: undefined })
}

/**
 * Returns what the handler returned, or throws what it threw. A thrown error keeps the stack from the other process, and
 * its signal, such as `Fatal`, is its cause.
 */
function resultOf(outcome: Outcome): unknown {
  switch (outcome.outcome) {
    case 'succeed':
      return outcome.next
        ? new Next(outcome.next.stage, { ...outcome.next, result: outcome.result })
        : outcome.result
    case 'release':
      return new Release(outcome.delayMs)
    case 'fail':
      throw new ReportedError(outcome.error, { cause: signalOf(outcome) })
  }
}

function signalOf({ fatal, retryInMs }: Extract<Outcome, { outcome: 'fail' }>): Error | undefined {
  if (fatal) return new Fatal('no retry helps')
  return retryInMs === undefined ? undefined : new RetryLater(retryInMs)
}
