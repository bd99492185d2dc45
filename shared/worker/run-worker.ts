import { setMaxListeners } from 'node:events'
import { WORKER_ID_BYTES_MAX } from '../core/bounds.ts'
import { BatonError } from '../core/errors.ts'
import { workOf } from '../core/task/piece.ts'
import { type Worker as Announced, isShortWorkerId } from '../core/worker/worker.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import { distinctTasks } from '../define/distinct-tasks.ts'
import type { Flow } from '../define/flow/define-flow.ts'
import type { Inbox } from '../ports/messages.ts'
import { createTicketClaimer } from '../runtime/claim/claim-by-ticket.ts'
import { type Serving, serveClaimed, serveDispatch } from '../runtime/dispatch/dispatch.ts'
import { WORKER } from '../runtime/dispatch/disposition.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { SlotUse } from '../runtime/limits/start.ts'
import { cachedTypeReader } from '../runtime/types/type-cache.ts'
import { createCapacity, createWaitRoom } from './capacity.ts'
import { type Hooks, safeHooks } from './hooks.ts'
import { type Receiving, receiveDispatches, receiveTargets } from './receive.ts'
import { automaticWorkerId } from './worker-id.ts'

const DEFAULT_CONCURRENCY = 10
/** Container services grant 30 s between SIGTERM and SIGKILL by default. 5 s remain to release the runs that have not finished. */
const DEFAULT_DRAIN_MS = 25_000

export type WorkerSettings = Hooks & {
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

/** A process that serves task types from their queues. */
export type Worker = {
  /** The worker's id, as tasks and `GET /v1/workers` show it. */
  readonly workerId: string
  /** Begins to receive tasks. @throws BatonError `refused` when the worker was stopped */
  start(): void
  /**
   * Changes how many runs the worker has at a time, from now on. After a decrease no run begins until enough have ended.
   *
   * @throws BatonError `invalid` when it is not a whole number from 1 up
   */
  setConcurrency(concurrency: number): void
  /** How many runs are under way, including tasks that wait in this worker for their slot under a rate limit. */
  running(): number
  /**
   * Ends the worker gracefully. It receives no more tasks and lets runs finish for `timeoutMs` milliseconds (default: the
   * worker's `drainMs`). Then it releases the runs that have not finished, which costs them no retry. Resolves when no run is
   * under way. A stopped worker cannot start again.
   */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>
  /** Releases all runs at once, with or without an earlier `stop`. Resolves when no run is under way. */
  abort(): Promise<void>
}

/**
 * Creates a worker on the given system and inbox.
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, a wrong concurrency or a wrong worker id.
 */
export function runWorker(system: System, inbox: Inbox, settings: WorkerSettings): Worker {
  const { version, drainMs = DEFAULT_DRAIN_MS } = settings
  const workerId = checkedWorkerId(settings.workerId ?? automaticWorkerId())
  const definitions = byType(settings.tasks)
  const types = [...definitions.keys()]
  const capacity = createCapacity(checkedConcurrency(settings.concurrency ?? DEFAULT_CONCURRENCY))
  const draining = withoutListenerLimit(new AbortController())
  const aborting = withoutListenerLimit(new AbortController())
  const leaving = new AbortController()
  const claimer = { workerId, ...(version !== undefined && { version }) }
  const hooks = safeHooks(settings, system.log, aborting.signal)
  const typeOf = cachedTypeReader(system)
  const claimByTicket = createTicketClaimer(system, claimer)
  const room = createWaitRoom(system.clock, capacity, draining.signal)
  const slotUse: SlotUse = { kind: 'wait-for-slot', room }
  const running = new Set<Promise<unknown>>()
  let loops: Promise<void>[] | undefined
  let presence: Promise<void> | undefined

  const begin = (type: string, run: (serving: Serving) => Promise<unknown>) => {
    const definition = definitions.get(type)
    if (!definition) throw new Error(`received a task of type '${type}', which this worker does not serve`)
    const signals = { draining: draining.signal, aborting: aborting.signal }
    const tools = { system, receiver: WORKER, claimer, hooks, typeOf, claimByTicket, slotUse }
    const ran = run({ ...tools, definition, ...signals }).finally(() => {
      running.delete(ran)
      capacity.release()
    })
    running.add(ran)
  }
  const receiving: Receiving = {
    ...{ system, inbox, capacity, draining: draining.signal },
    serve: (type, delivery) => begin(type, serving => serveDispatch(serving, delivery)),
    serveClaimed: claimed => begin(workOf(claimed.task).type, serving => serveClaimed(serving, claimed)),
    onError: error => {
      system.log.error('tasks could not be received', { error })
      void hooks.onError({ error })
    },
  }

  const endAll = async () => {
    draining.abort()
    await Promise.all(loops ?? [])
    await Promise.all(running)
    leaving.abort()
    await presence
  }

  return {
    workerId,
    start: () => {
      if (draining.signal.aborted) throw new BatonError('refused', `worker ${workerId} was stopped`)
      loops ??= [
        ...types.map(type => receiveDispatches(type, receiving)),
        receiveTargets(types, claimer, receiving),
      ]
      presence ??= announce(system, { ...claimer, types }, () => running.size, leaving.signal)
    },
    setConcurrency: concurrency => capacity.resize(checkedConcurrency(concurrency)),
    running: () => running.size,
    stop: async ({ timeoutMs = drainMs } = {}) => {
      const drained = new AbortController()
      const end = endAll().finally(() => drained.abort())
      await Promise.race([end, system.clock.sleep(timeoutMs, drained.signal)])
      aborting.abort()
      await end
    },
    abort: () => {
      aborting.abort()
      return endAll()
    },
  }
}

/** Every run listens to these signals, so Node must not warn about many listeners. */
function withoutListenerLimit(controller: AbortController): AbortController {
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
  throw new BatonError('invalid', `workerId has ${bytes} bytes in UTF-8; give 1–${WORKER_ID_BYTES_MAX} bytes`)
}

function checkedConcurrency(concurrency: number): number {
  if (Number.isInteger(concurrency) && concurrency >= 1) return concurrency
  throw new BatonError('invalid', `concurrency is ${concurrency}; give a whole number from 1 up`)
}

/** A third of the time after which a silent worker counts as gone, so that two announcements in a row may fail. */
const ANNOUNCE_INTERVAL_MS = 10_000

/** Keeps the worker in the registry until `leaving` aborts, then removes it. Costs one write every ten seconds. Never throws. */
async function announce(
  { workers, clock, log }: Pick<System, 'workers' | 'clock' | 'log'>,
  worker: Omit<Announced, 'kind' | 'running' | 'startedAt' | 'lastSeen'>,
  running: () => number,
  leaving: AbortSignal,
): Promise<void> {
  const { workerId } = worker
  const startedAt = clock.now()
  const orLog = (error: unknown) => log.warn('a worker could not be announced', { workerId, error })
  while (!leaving.aborted) {
    const announced: Announced = {
      ...worker,
      ...{ kind: 'standalone', running: running(), startedAt, lastSeen: clock.now() },
    }
    await workers.announce(announced).catch(orLog)
    await clock.sleep(ANNOUNCE_INTERVAL_MS, leaving)
  }
  await workers.leave({ workerId, startedAt }).catch(orLog)
}
