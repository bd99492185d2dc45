import type { Claimer } from '../core/run/claim.ts'
import { workOf } from '../core/task/piece.ts'
import { defined } from '../core/values/values.ts'
import type { Worker as Announced } from '../core/worker.ts'
import type { Delivery, Inbox } from '../ports/messages.ts'
import { createTicketClaimer } from '../runtime/claim/claim-by-ticket.ts'
import { claimTargets } from '../runtime/claim/claim-targets.ts'
import type { Claimed } from '../runtime/claim/claimed-task.ts'
import { type Serving, serveClaimed, serveDispatch } from '../runtime/dispatch/dispatch.ts'
import { WORKER } from '../runtime/dispatch/disposition.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { RunHooks } from '../runtime/run/run.ts'
import { cachedTypeReader } from '../runtime/types/type-cache.ts'
import { type Capacity, createWaitList } from './capacity.ts'
import type { Engine, HookedRun, Worker, WorkerSettings } from './engine.ts'
import { begin, createEngine, definitionOf, safeHooks, workerOf } from './engine.ts'

/**
 * Creates a worker that serves its types from their queues, with access to the table.
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, a wrong concurrency or a wrong worker id.
 */
export function runQueueWorker(
  system: System,
  inbox: Inbox,
  settings: WorkerSettings & { readonly workerId: string },
): Worker {
  const engine = createEngine(settings, settings.workerId)
  const { workerId, tasks, capacity, running, draining, aborting, leaving } = engine
  const claimer = { workerId, ...defined({ version: settings.version }) }
  const types = [...tasks.keys()]
  const held = new Set<string>()
  const hooks = noting(held, safeHooks(settings, system.log, aborting.signal))
  const tools: Omit<Serving, 'definition'> = {
    ...{ system, receiver: WORKER, claimer, hooks },
    ...{ draining: draining.signal, aborting: aborting.signal },
    typeOf: cachedTypeReader(system),
    claimByTicket: createTicketClaimer(system, claimer),
    slotUse: { kind: 'wait-for-slot', waitList: createWaitList(system.clock, capacity, draining.signal) },
  }
  const servingOf = (type: string): Serving => ({ ...tools, definition: definitionOf(engine, type) })
  const receiving = {
    ...{ system, inbox, capacity, draining: draining.signal },
    serve: (type, delivery) => begin(engine, serveDispatch(servingOf(type), delivery)),
    serveClaimed: claimed => begin(engine, serveClaimed(servingOf(workOf(claimed.task).type), claimed)),
    onError: error => {
      system.log.error('tasks could not be received', { error })
      void hooks.onError({ error })
    },
  } satisfies Parameters<typeof receiveDispatches>[1]
  const source = {
    receive: () =>
      Promise.all([
        ...types.map(type => receiveDispatches(type, receiving)),
        receiveTargets(types, claimer, receiving),
      ]),
    announce: () => announce(system, { ...claimer, types }, { running, held, draining, leaving }),
  }
  return workerOf(engine, source, system.clock)
}

/** A third of the time after which a silent worker counts as gone, so that two announcements in a row may fail. */
const ANNOUNCE_INTERVAL_MS = 10_000

/** An announcement names at most this many of the worker's tasks, so that it costs one write unit. */
const TASKS_ANNOUNCED_MAX = 5

/** Notes which tasks run, by their ids, for the announcements of the worker. */
function noting(held: Set<string>, hooks: RunHooks<HookedRun>): RunHooks<HookedRun> {
  return {
    ...hooks,
    beforeRun: run => {
      held.add(run.task.id)
      return hooks.beforeRun(run)
    },
    afterRun: run => {
      held.delete(run.task.id)
      return hooks.afterRun(run)
    },
  }
}

/**
 * Keeps the worker in the registry until `leaving` aborts, then removes it. Costs one write every ten seconds, and one when it begins to
 * drain. Never throws.
 */
async function announce(
  { workers, clock, log }: Pick<System, 'workers' | 'clock' | 'log'>,
  worker: Pick<Announced, 'workerId' | 'version' | 'types'>,
  engine: Pick<Engine, 'running' | 'draining' | 'leaving'> & { readonly held: Set<string> },
): Promise<void> {
  const { running, held } = engine
  const [draining, leaving] = [engine.draining.signal, engine.leaving.signal]
  const { workerId } = worker
  const startedAt = clock.now()
  const orLog = (error: unknown) => log.warn('a worker could not be announced', { workerId, error })
  const present = (): Announced => {
    // A run whose end an outage has prevented is not reported to the hooks.
    if (running.size === 0) held.clear()
    return {
      ...worker,
      ...{ kind: 'standalone', running: running.size, startedAt, lastSeen: clock.now() },
      ...(held.size > 0 && { tasks: [...held].slice(0, TASKS_ANNOUNCED_MAX) }),
      ...(draining.aborted && { draining: true }),
    }
  }
  while (!leaving.aborted) {
    await workers.announce(present()).catch(orLog)
    const until = draining.aborted ? leaving : AbortSignal.any([draining, leaving])
    await clock.sleep(ANNOUNCE_INTERVAL_MS, until)
  }
  await workers.leave({ ...present(), stoppedAt: clock.now() }).catch(orLog)
}

/** The most messages that one receive can return. Source: SQS, ReceiveMessage. */
const DELIVERIES_MAX = 10
/** How long an idle type waits for its next dispatch; the longest wait that SQS offers. */
const LONG_POLL_MS = 20_000
/** How often a worker with free capacity looks for tasks that name this worker in `workerIds`. */
const TARGETS_INTERVAL_MS = 1_000
const PAUSE_MS = 1_000

type Receiving = {
  readonly system: System
  readonly inbox: Inbox
  readonly capacity: Capacity
  /** Ends the receiving when it aborts. */
  readonly draining: AbortSignal
  /** Serves a delivery of the type's queue. One unit of capacity was taken for it; `serve` releases that unit at its end. */
  readonly serve: (type: string, delivery: Delivery) => void
  /** Serves a task that is already claimed, and releases its unit of capacity at its end. */
  readonly serveClaimed: (claimed: Claimed) => void
  readonly onError: (error: unknown) => void
}

/**
 * Fetches the dispatches of one type as long as the worker has free capacity. A type with work takes its share of the
 * capacity and receives without waiting. An idle type waits for its next dispatch and takes no capacity meanwhile, so
 * that many idle types cost a busy one nothing.
 */
async function receiveDispatches(type: string, receiving: Receiving): Promise<void> {
  const { draining, system, onError } = receiving
  let isIdle = false
  while (!draining.aborted) {
    try {
      const received: number = await (isIdle ? awaitOne(type, receiving) : fetchMany(type, receiving))
      isIdle = received === 0
    } catch (error) {
      onError(error)
      await system.clock.sleep(PAUSE_MS, draining)
    }
  }
}

/** Claims the tasks that name this worker in `workerIds`, as long as there is free capacity. Such tasks are in no queue. */
async function receiveTargets(
  types: readonly string[],
  claimer: Claimer,
  { system, capacity, draining, serveClaimed, onError }: Receiving,
): Promise<void> {
  while (!draining.aborted) {
    const taken = await capacity.takeUpTo(DELIVERIES_MAX, draining)
    let served = 0
    try {
      const claimed = taken > 0 ? await claimTargets(system, claimer, types, taken) : []
      for (const one of claimed) {
        serveClaimed(one)
        served += 1
      }
    } catch (error) {
      onError(error)
    } finally {
      capacity.release(taken - served)
    }
    if (served === 0) await system.clock.sleep(TARGETS_INTERVAL_MS, draining)
  }
}

/**
 * Receives as many dispatches as the capacity allows. Draining does not abort the receive: messages that SQS has
 * just returned would stay hidden until their visibility timeout.
 */
async function fetchMany(type: string, { inbox, capacity, draining, serve }: Receiving): Promise<number> {
  const max = await capacity.takeUpTo(DELIVERIES_MAX, draining)
  if (max === 0) return 0
  let served = 0
  try {
    const deliveries = await inbox.receive(type, { max, waitMs: 0 })
    for (const delivery of deliveries) {
      serve(type, delivery)
      served += 1
    }
  } finally {
    capacity.release(max - served)
  }
  return served
}

/** Waits for one dispatch. When the capacity was used up meanwhile, the dispatch goes back to its queue at once. */
async function awaitOne(type: string, { inbox, capacity, draining, serve }: Receiving): Promise<number> {
  if (!(await capacity.whenFree(draining))) return 0
  const deliveries = await inbox.receive(type, { max: 1, waitMs: LONG_POLL_MS }, draining)
  for (const delivery of deliveries) {
    if (capacity.tryTake()) serve(type, delivery)
    else await delivery.putBack(0)
  }
  return deliveries.length
}
