import { workOf } from '../../core/task/piece.ts'
import { defined } from '../../core/values/json.ts'
import type { Worker as Announced } from '../../core/worker/worker.ts'
import type { Inbox } from '../../ports/messages.ts'
import { createTicketClaimer } from '../../runtime/claim/claim-by-ticket.ts'
import { type Serving, serveClaimed, serveDispatch } from '../../runtime/dispatch/dispatch.ts'
import { WORKER } from '../../runtime/dispatch/disposition.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { cachedTypeReader } from '../../runtime/types/type-cache.ts'
import { createWaitRoom } from '../capacity.ts'
import { begin, createEngine, definitionOf, type Worker, type WorkerSettings, workerOf } from '../engine.ts'
import { safeHooks } from '../hooks.ts'
import { receiveDispatches, receiveTargets } from './receive.ts'

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
  const hooks = safeHooks(settings, system.log, aborting.signal)
  const tools: Omit<Serving, 'definition'> = {
    ...{ system, receiver: WORKER, claimer, hooks },
    ...{ draining: draining.signal, aborting: aborting.signal },
    typeOf: cachedTypeReader(system),
    claimByTicket: createTicketClaimer(system, claimer),
    slotUse: { kind: 'wait-for-slot', room: createWaitRoom(system.clock, capacity, draining.signal) },
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
    announce: () => announce(system, { ...claimer, types }, () => running.size, leaving.signal),
  }
  return workerOf(engine, source, system.clock)
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
