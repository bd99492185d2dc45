import { setMaxListeners } from 'node:events'
import { WORKER_ID_BYTES_MAX } from '../core/bounds.ts'
import { BatonError } from '../core/errors.ts'
import { workOf } from '../core/task/piece.ts'
import { type Worker as Announced, isShortWorkerId } from '../core/worker/worker.ts'
import type { Flow } from '../define/define-flow.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import { distinctTasks } from '../define/distinct-tasks.ts'
import type { Inbox } from '../ports/messages.ts'
import { createTicketWaitList } from '../runtime/claim/claim-by-ticket.ts'
import type { System } from '../runtime/kernel/system.ts'
import { startInOwnSlot } from '../runtime/limits/start-policy.ts'
import { cachedTypeReader } from '../runtime/types/type-cache.ts'
import { type Hooks, safeHooks } from './hooks.ts'
import { type Receiving, receiveDispatches, receiveTargets } from './receive.ts'
import { type Serving, serveClaimed, serveDispatch } from './serve.ts'
import { createCapacity, createInPlaceWait } from './slots.ts'
import { automaticWorkerId } from './worker-id.ts'

const DEFAULT_CONCURRENCY = 10
/** Leaves 5 s of the 30 that container services grant between SIGTERM and SIGKILL by default. */
const DEFAULT_DRAIN_MS = 25_000

export type WorkerSettings = Hooks & {
  /** What it serves: tasks, and what the steps of flows do and undo; one definition for each type. */
  readonly tasks: ReadonlyArray<TaskDefinition | Flow>
  /** How many runs at a time, of all types together. @default 10 */
  readonly concurrency?: number
  /** @default host name, process id and a random part: another for each worker */
  readonly workerId?: string
  /** Dotted numbers; tasks with a `minWorkerVersion` are refused without. */
  readonly version?: string
  /** How long `stop` lets runs finish, in milliseconds. @default 25,000 */
  readonly drainMs?: number
}

/** A process that serves task types from their queues. */
export type Worker = {
  readonly workerId: string
  /** Begins to receive. */
  start(): void
  /** Applies at once: more runs begin, or none until enough have ended. @throws BatonError `invalid` */
  setConcurrency(concurrency: number): void
  /** Runs under way, and tasks that wait here for their turns under a rate limit. */
  running(): number
  /**
   * Receives nothing more, lets runs finish for `timeoutMs` (default: the worker's `drainMs`), then gives the others
   * back, which costs them no retry. Resolves when nothing of the worker is under way any more. A stopped worker does
   * not start again.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>
  /** Gives all runs back at once, whether or not `stop` was called before. */
  abort(): Promise<void>
}

/** A worker in this world. @throws BatonError `invalid` for settings that cannot be. */
export function runWorker(system: System, inbox: Inbox, settings: WorkerSettings): Worker {
  const { version, drainMs = DEFAULT_DRAIN_MS } = settings
  const workerId = checkedWorkerId(settings.workerId ?? automaticWorkerId())
  const definitions = byType(settings.tasks)
  const types = [...definitions.keys()]
  const slots = createCapacity(checkedConcurrency(settings.concurrency ?? DEFAULT_CONCURRENCY))
  const over = endless(new AbortController())
  const stopping = endless(new AbortController())
  const gone = new AbortController()
  const claimer = { workerId, ...(version !== undefined && { version }) }
  const hooks = safeHooks(settings, system.log, stopping.signal)
  const typeOf = cachedTypeReader(system)
  const takeToken = createTicketWaitList(system, claimer)
  const starting = startInOwnSlot(createInPlaceWait(system.clock, slots, over.signal))
  const running = new Set<Promise<void>>()
  let loops: Promise<void>[] | undefined
  let presence: Promise<void> | undefined

  const begin = (type: string, run: (serving: Serving) => Promise<void>) => {
    const definition = definitions.get(type)
    if (!definition) throw new Error(`received a task of '${type}', which is not served here`)
    const signals = { over: over.signal, stopping: stopping.signal }
    const ran = run({
      system,
      claimer,
      definition,
      hooks,
      typeOf,
      claimByTicket: takeToken,
      starting,
      ...signals,
    }).finally(() => {
      running.delete(ran)
      slots.release()
    })
    running.add(ran)
  }
  const receiving: Receiving = {
    ...{ system, inbox, capacity: slots, draining: over.signal },
    serve: (type, delivery) => begin(type, serving => serveDispatch(delivery, serving)),
    serveClaimed: claimed => begin(workOf(claimed.task).type, serving => serveClaimed(claimed, serving)),
    onError: error => {
      system.log.error('tasks could not be received', { error })
      void hooks.onError({ error })
    },
  }

  const ended = async () => {
    over.abort()
    await Promise.all(loops ?? [])
    await Promise.all(running)
    gone.abort()
    await presence
  }

  return {
    workerId,
    start: () => {
      if (over.signal.aborted) throw new BatonError('refused', `worker ${workerId} was stopped`)
      loops ??= [
        ...types.map(type => receiveDispatches(type, receiving)),
        receiveTargets(types, claimer, receiving),
      ]
      presence ??= announce(system, { ...claimer, types }, () => running.size, gone.signal)
    },
    setConcurrency: concurrency => slots.resize(checkedConcurrency(concurrency)),
    running: () => running.size,
    stop: async ({ timeoutMs = drainMs } = {}) => {
      const drained = new AbortController()
      const end = ended().finally(() => drained.abort())
      await Promise.race([end, system.clock.sleep(timeoutMs, drained.signal)])
      stopping.abort()
      await end
    },
    abort: () => {
      stopping.abort()
      return ended()
    },
  }
}

/** Every run listens to these signals. */
function endless(controller: AbortController): AbortController {
  setMaxListeners(0, controller.signal)
  return controller
}

function byType(definitions: WorkerSettings['tasks']): Map<string, TaskDefinition> {
  const tasks = distinctTasks(definitions)
  if (tasks.length === 0) throw new BatonError('invalid', 'a worker needs at least one task to serve')
  return new Map(tasks.map(task => [task.type, task]))
}

function checkedWorkerId(workerId: string): string {
  if (workerId !== '' && isShortWorkerId(workerId)) return workerId
  const bytes = Buffer.byteLength(workerId)
  throw new BatonError('invalid', `workerId has ${bytes} bytes in UTF-8; give 1–${WORKER_ID_BYTES_MAX}`)
}

function checkedConcurrency(concurrency: number): number {
  if (Number.isInteger(concurrency) && concurrency >= 1) return concurrency
  throw new BatonError('invalid', `concurrency is ${concurrency}; give a whole number from 1 up`)
}

/** A third of what a worker may be silent: two announcements may fail before it counts as gone. */
const INTERVAL_MS = 10_000

/** Keeps the worker in the registry until `gone`, then takes it out. One write every ten seconds. Never fails. */
async function announce(
  { workers, clock, log }: Pick<System, 'workers' | 'clock' | 'log'>,
  worker: Omit<Announced, 'kind' | 'running' | 'startedAt' | 'lastSeen'>,
  running: () => number,
  gone: AbortSignal,
): Promise<void> {
  const { workerId } = worker
  const startedAt = clock.now()
  const orLog = (error: unknown) => log.warn('a worker could not be announced', { workerId, error })
  while (!gone.aborted) {
    const sign: Announced = {
      ...worker,
      ...{ kind: 'standalone', running: running(), startedAt, lastSeen: clock.now() },
    }
    await workers.announce(sign).catch(orLog)
    await clock.sleep(INTERVAL_MS, gone)
  }
  await workers.leave({ workerId, startedAt }).catch(orLog)
}
