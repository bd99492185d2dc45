import { type ChildProcess, fork, type StdioOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BatonError } from '../../core/errors.ts'
import type { Outcome } from '../../core/run/run.ts'
import { ReportedError } from '../../core/task-error/task-error.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { TaskContext } from '../../define/task-context.ts'
import { Fatal, Next, Release, RetryLater } from '../../signals.ts'
import type { FromProcess, PlainContext, PublishAnswer, ToProcess } from './protocol.ts'

export type IsolationSettings = {
  /** The file that exports the tasks, relative to the working directory: each run's process loads it. */
  readonly file: string
  /** Heap of a run's process, in megabytes. @default Node's */
  readonly memoryMb?: number
}

export type Isolation = {
  /** The same task, each run of it in a process of its own. */
  isolated(definition: TaskDefinition): TaskDefinition
  /** Ends what is left of processes whose runs are over, and what they started. */
  end(): void
}

/** After the signal of an aborted run, and after its handler's word, its process has so long to end by itself. */
const END_GRACE_MS = 5_000

/**
 * Runs handlers in processes of their own. The worker keeps lease, heartbeats and every write; a process that crashes,
 * exits or runs out of memory fails its run and nothing else. Costs the start of a process, some 100 to 300 ms, a run.
 */
export function createIsolation({ file, memoryMb }: IsolationSettings): Isolation {
  const alive = new Set<ChildProcess>()
  const start = (type: string) => {
    const heap = memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`]
    const child = fork(ENTRY, [file, type], {
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...heap],
      // A group of its own: signals of the terminal are for the worker, and a kill reaches what the handler started.
      detached: true,
      // Where a detached process would get a console window of its own.
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
    // The process parses the input: what a schema makes of it need not cross between processes.
    isolated: ({ input: _schema, ...definition }) => ({
      ...definition,
      run: (input, context) => runInProcess(start(definition.type), input, context),
    }),
    end: () => {
      for (const child of alive) killGroup(child)
    },
  }
}

/** The last one is its lifeline: see watchdog.ts. */
const STDIO = ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] as const satisfies StdioOptions

const ENTRY = fileURLToPath(new URL('./process.ts', import.meta.url))

async function runInProcess(child: ChildProcess, input: unknown, context: TaskContext): Promise<unknown> {
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
  if (hasEnded(child)) return
  const timer = setTimeout(() => killGroup(child), END_GRACE_MS)
  child.once('exit', () => clearTimeout(timer))
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** Windows knows no process groups: there, what a handler started outlives it. */
function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Its word, or that it died without one. */
function outcomeIn(child: ChildProcess, context: TaskContext): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: FromProcess) => {
      if (message.kind === 'ended') resolve(message.outcome)
      else void serve(child, message, context)
    })
    child.on('error', error => reject(died(`could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      const tell = () =>
        reject(died(signal ? `was ended by ${signal}` : `ended with exit code ${code} before its task`))
      // What it said last may still be on its way.
      if (child.connected) child.once('disconnect', tell)
      else tell()
    })
  })
}

async function serve(
  child: ChildProcess,
  message: Exclude<FromProcess, { kind: 'ended' }>,
  context: TaskContext,
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

/** A process that has just died is reported by its exit; the failed send needs no second report. */
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
}: TaskContext): PlainContext {
  return data
}

function died(how: string): Error {
  return Object.assign(new Error(`the process of the run ${how}`), { name: 'ProcessDied', stack: undefined })
}

/** What the handler returned, or throws what it threw: the signal in the cause, the stack as it was over there. */
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
