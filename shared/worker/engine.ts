import { setMaxListeners } from 'node:events'
import { WORKER_ID_BYTES_MAX } from '../core/bounds.ts'
import type { LiveRun, Task } from '../core/task/task.ts'
import { BatonError, illegal } from '../core/values/values.ts'
import { isShortWorkerId } from '../core/worker.ts'
import { distinctTasks, type Flow, type TaskDefinition } from '../define/definitions.ts'
import type { Clock, Log } from '../ports/machine.ts'
import { logFields } from '../runtime/kernel/log-run-ends.ts'
import type { Ran, RunHooks } from '../runtime/run/run.ts'
import { type Capacity, createCapacity } from './capacity.ts'

const DEFAULT_CONCURRENCY = 10
/** Container services grant 30 s between SIGTERM and SIGKILL by default. 5 s remain to release the runs that have not finished. */
const DEFAULT_DRAIN_MS = 25_000

/** The options that all workers have. `Run` is what their hooks get of a run. */
export type WorkerSettings<Run = HookedRun> = Hooks<Run> & {
  /** The tasks to serve. A flow stands for the tasks of its steps. Each type may have one definition only. */
  readonly tasks: ReadonlyArray<TaskDefinition | Flow>
  /** How many runs the worker has at a time, of all types together; 1 or more. @default 10 */
  readonly concurrency?: number
  /** The worker's id, unique among all workers. @default host name, process id and a random part */
  readonly workerId?: string
  /**
   * The worker's version: numbers with dots, such as `2.1`.
   * @default none: the worker gets no task with a `minWorkerVersion`
   */
  readonly version?: string
  /** How long `stop` lets runs finish, in milliseconds. @default 25,000 */
  readonly drainMs?: number
}

/** A process that serves task types, from their queues or over HTTP. */
export type Worker = {
  /** The worker's id, as tasks and `GET /v1/workers` show it. */
  readonly workerId: string
  /** Begins to take tasks. @throws BatonError `refused` when the worker was stopped */
  start(): void
  /**
   * Changes how many runs the worker has at a time, from now on. After a decrease no run begins until enough have ended. A worker over
   * HTTP still runs what the claim under way brings.
   *
   * @throws BatonError `invalid` when it is not a whole number from 1 up
   */
  setConcurrency(concurrency: number): void
  /** How many runs are under way, including tasks that wait in this worker for their slot under a rate limit. */
  running(): number
  /**
   * Ends the worker gracefully. It takes no more tasks and lets runs finish for `timeoutMs` milliseconds (default: the
   * worker's `drainMs`). Then it releases the runs that have not finished, which costs them no retry. Resolves when no run is
   * under way. A stopped worker cannot start again.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>
  /** Releases all runs at once, with or without an earlier `stop`. Resolves when no run is under way. */
  abort(): Promise<void>
}

/** The state of a worker. Its phases follow each other: it receives, it drains, it aborts its last runs, it leaves. */
export type Engine = {
  readonly workerId: string
  /** The tasks that the worker serves, by their types. */
  readonly tasks: ReadonlyMap<string, TaskDefinition>
  readonly capacity: Capacity
  readonly running: Set<Promise<unknown>>
  readonly drainMs: number
  /** Aborts when the worker takes no more tasks. */
  readonly draining: AbortController
  /** Aborts when the worker ends now: its runs are released. */
  readonly aborting: AbortController
  /** Aborts when no run is under way any more. */
  readonly leaving: AbortController
}

/** Where a worker gets its tasks. */
type Source = {
  /** Takes tasks and begins their runs, until `draining` aborts. */
  receive(): Promise<unknown>
  /** Shows the worker to others, until `leaving` aborts. */
  announce?(): Promise<unknown>
}

/**
 * The state of a worker that has not started.
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, a wrong concurrency or a wrong worker id.
 */
export function createEngine(settings: WorkerSettings<never>, workerId: string): Engine {
  const tasks = distinctTasks(settings.tasks)
  if (tasks.length === 0) throw illegal('a worker needs at least one task to serve')
  return {
    workerId: checkedWorkerId(workerId),
    tasks: new Map(tasks.map(task => [task.type, task])),
    capacity: createCapacity(checkedConcurrency(settings.concurrency ?? DEFAULT_CONCURRENCY)),
    running: new Set(),
    drainMs: checkedWhole('drainMs', settings.drainMs ?? DEFAULT_DRAIN_MS, 0),
    draining: withoutListenerLimit(new AbortController()),
    aborting: withoutListenerLimit(new AbortController()),
    leaving: new AbortController(),
  }
}

export function definitionOf({ tasks }: Engine, type: string): TaskDefinition {
  const definition = tasks.get(type)
  if (definition) return definition
  throw new Error(`received a task of type '${type}', which this worker does not serve`)
}

/** Counts work for which one unit of capacity was taken, and gives the unit back at its end. */
export function begin({ running, capacity }: Engine, work: Promise<unknown>): void {
  const ran = work.finally(() => {
    running.delete(ran)
    capacity.release()
  })
  running.add(ran)
}

/** The worker that an engine drives with the tasks of a source. */
export function workerOf(engine: Engine, source: Source, clock: Clock): Worker {
  const { workerId, capacity, running, drainMs, draining, aborting, leaving } = engine
  let started:
    | { readonly received: Promise<unknown>; readonly left: Promise<unknown> | undefined }
    | undefined
  const end = async () => {
    draining.abort()
    await started?.received
    await Promise.all(running)
    leaving.abort()
    await started?.left
  }
  return {
    workerId,
    start: () => {
      if (draining.signal.aborted) throw new BatonError('refused', `worker ${workerId} was stopped`)
      started ??= { received: source.receive(), left: source.announce?.() }
    },
    setConcurrency: concurrency => capacity.resize(checkedConcurrency(concurrency)),
    running: () => running.size,
    stop: async ({ timeoutMs = drainMs } = {}) => {
      const drained = new AbortController()
      const ended = end().finally(() => drained.abort())
      await Promise.race([ended, clock.sleep(timeoutMs, drained.signal)])
      aborting.abort()
      await ended
    },
    abort: () => {
      aborting.abort()
      return end()
    },
  }
}

/** Every run listens to these signals, so Node must not warn about many listeners. */
function withoutListenerLimit(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal)
  return controller
}

function checkedWorkerId(workerId: string): string {
  if (workerId !== '' && isShortWorkerId(workerId)) return workerId
  const bytes = Buffer.byteLength(workerId)
  throw illegal(`workerId has ${bytes} bytes in UTF-8; give 1–${WORKER_ID_BYTES_MAX} bytes`)
}

function checkedConcurrency(concurrency: number): number {
  return checkedWhole('concurrency', concurrency, 1)
}

/** @throws BatonError `invalid` when the option is not a whole number within its bounds. */
export function checkedWhole(
  name: string,
  value: number,
  min: number,
  max = Number.POSITIVE_INFINITY,
): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  const legal = max === Number.POSITIVE_INFINITY ? `from ${min} up` : `from ${min} to ${max}`
  throw illegal(`${name} is ${value}; give a whole number ${legal}`)
}

export type HookedRun = { readonly task: Task; readonly run: LiveRun }

/**
 * A run that has ended: what `beforeRun` got, and how the run ended. `outcome` is `stopped` when the run was cancelled, removed or lost
 * meanwhile, and the worker wrote nothing. `error` says why the run failed.
 */
export type EndedHookedRun<Run = HookedRun> = Run & Ran

/** A failure. `run` is absent when the task was not claimed. `task` is absent too when nothing could be received. */
export type Failure<Run = HookedRun> = { readonly error: unknown } & Partial<Run>

/**
 * Functions that the worker calls around runs. The worker logs a hook that throws, and continues. When the worker ends, it
 * does not wait for a hook that hangs.
 */
type Hooks<Run = HookedRun> = {
  /** Called before the handler. The handler waits for it, and the run sends heartbeats meanwhile. */
  readonly beforeRun?: (run: Run) => unknown
  /** Called after the end of the run was written. The worker takes another task in its place only afterwards. */
  readonly afterRun?: (run: EndedHookedRun<Run>) => unknown
  /** Called for every failure: of a handler, with the stored error, and of the worker itself (storage, queues, API). */
  readonly onError?: (failure: Failure<Run>) => unknown
}

type Hooked = { readonly task: { readonly id: string } }

/** The hooks in a form that never throws and never outlasts the worker. */
export function safeHooks<Run extends Hooked>(
  { beforeRun, afterRun, onError }: Hooks<Run>,
  log: Log,
  aborting: AbortSignal,
): RunHooks<Run> {
  const safe =
    <About extends Partial<Hooked>>(name: keyof Hooks, hook?: (about: About) => unknown) =>
    async (about: About) => {
      try {
        if (hook) await endOrAbort(hook(about), aborting)
      } catch (error) {
        log.error(`the hook ${name} threw`, { ...(about.task && logFields(about.task)), error })
      }
    }
  return {
    beforeRun: safe('beforeRun', beforeRun),
    afterRun: safe('afterRun', afterRun),
    onError: safe('onError', onError),
  }
}

async function endOrAbort(hookResult: unknown, aborting: AbortSignal): Promise<void> {
  const hookEnded = new AbortController()
  const aborted = new Promise<void>(resolve => {
    if (aborting.aborted) resolve()
    aborting.addEventListener('abort', () => resolve(), { once: true, signal: hookEnded.signal })
  })
  try {
    await Promise.race([hookResult, aborted])
  } finally {
    hookEnded.abort()
  }
}
