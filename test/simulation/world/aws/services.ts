import { WORKER_VISIBILITY_S } from '../../../../shared/core/bounds.ts'
import type { LimitChange, LimitLook } from '../../../../shared/core/limits/held-permits.ts'
import { workOf } from '../../../../shared/core/task/piece.ts'
import type { TaskType } from '../../../../shared/core/types/task-type.ts'
import type { JobLook } from '../../../../shared/core/types/type-job.ts'
import type { Log } from '../../../../shared/ports/machine.ts'
import type {
  CanvasLook,
  Delivery,
  Dispatch,
  Inbox,
  Look,
  Messages,
  SendFailure,
  Wake,
} from '../../../../shared/ports/messages.ts'
import type { LimitStore, TypeStore } from '../../../../shared/ports/stores.ts'
import { CHANGE_HOOKS } from '../../../../shared/runtime/change-hooks.ts'
import type { PlanningSystem } from '../../../../shared/runtime/kernel/system.ts'
import { createMemoryCanvasStore } from '../../../../shared/testing/stores/canvas-store.ts'
import { createMemoryLimitStore } from '../../../../shared/testing/stores/limit-store.ts'
import {
  createMemoryActivityStore,
  createMemoryFailureStore,
  createMemoryRecordStore,
} from '../../../../shared/testing/stores/record-store.ts'
import { createMemoryTargets } from '../../../../shared/testing/stores/targets.ts'
import { createMemoryTurnStore } from '../../../../shared/testing/stores/turn-store.ts'
import { createMemoryTypeStore } from '../../../../shared/testing/stores/type-store.ts'
import { createMemoryWorkerStore } from '../../../../shared/testing/stores/worker-store.ts'
import { withFaults } from '../faults.ts'
import type { Process } from '../process.ts'
import type { World } from '../world.ts'
import { createQueue, type Queue, type Received } from './queue.ts'
import type { Schedules } from './schedules.ts'
import { createStrictStore } from './strict-store.ts'
import type { Table } from './table.ts'

/** The content of a dispatch. */
export type Dispatched = Pick<Delivery, 'task' | 'passedOn'> & Pick<Dispatch, 'hops' | 'freed'>

/** The services of a world, and all ports on them as one process reaches them. */
export type Services = {
  readonly wakes: Queue<Wake>
  /** The queue of long jobs and large canvases. */
  readonly jobs: Queue<Wake>
  /** The queue of a type; undefined when no handler of it is deployed. */
  queueOf(type: string): Queue<Dispatched> | undefined
  /** Creates the queue of a type, as the deployment of its handler does. */
  addQueue(type: string, servedBy: 'lambda' | 'workers'): Queue<Dispatched>
  /** Deletes the queue of a type with its messages. */
  removeQueue(type: string): void
  /** Whether a purge is under way. */
  isPurging(): boolean
  /** The types that are paused now. */
  paused(): readonly string[]
  systemFor(process: Process): PlanningSystem
  inboxFor(process: Process): Inbox
}

/** How long a receive waits when the queue does not exist, as in the adapter. */
const MISSING_QUEUE_PAUSE_MS = 10_000
/** Visibility timeouts. For functions they are six times the function's timeout, as the constructs set them. */
const VISIBILITY_MS = { wakes: 180_000, jobs: 360_000, lambda: 720_000, workers: WORKER_VISIBILITY_S * 1_000 }

export function createServices(
  world: World,
  {
    table,
    schedules,
    onLimit,
  }: {
    readonly table: Table
    readonly schedules: () => Schedules
    /** Called for every change of a limit that the table's stream delivers. */
    readonly onLimit: (change: LimitChange) => void
  },
): Services {
  const { timeline } = world
  const wakes = createQueue<Wake>(world, 'wake', VISIBILITY_MS.wakes)
  const jobs = createQueue<Wake>(world, 'jobs', VISIBILITY_MS.jobs)
  const queues = new Map<string, Queue<Dispatched>>()
  const clock = { now: () => Math.floor(timeline.now()) }
  const types = watchedTypes(world)
  const kept = {
    types: types.store,
    canvases: createMemoryCanvasStore(),
    records: createMemoryRecordStore(clock),
    limits: watchedLimits(world, onLimit),
    turns: createMemoryTurnStore(),
    failures: createMemoryFailureStore(),
    activity: createMemoryActivityStore(),
    targets: createMemoryTargets(clock),
    workers: createMemoryWorkerStore(clock),
  }
  const stores = { ...kept, ...createStrictStore(world).stores(kept) }

  return {
    wakes,
    jobs,
    queueOf: type => queues.get(type),
    addQueue: (type, servedBy) => {
      const queue = queues.get(type) ?? createQueue<Dispatched>(world, type, VISIBILITY_MS[servedBy])
      queues.set(type, queue)
      return queue
    },
    removeQueue: type => {
      queues.get(type)?.drop()
      queues.delete(type)
    },
    isPurging: types.isPurging,
    paused: types.paused,
    systemFor: process => ({
      clock: process.clock,
      chance: process.chance,
      tasks: withFaults(world.scenario, table.storeFor(process)),
      types: reachedBy(process, 'types', stores.types),
      canvases: reachedBy(process, 'canvases', stores.canvases),
      records: reachedBy(process, 'records', stores.records),
      limits: reachedBy(process, 'limits', stores.limits),
      turns: reachedBy(process, 'turns', stores.turns),
      failures: reachedBy(process, 'failures', stores.failures),
      activity: reachedBy(process, 'activity', stores.activity),
      targets: reachedBy(process, 'targets', stores.targets),
      workers: reachedBy(process, 'workers', stores.workers),
      messages: messagesFor(world, process, { wakes, jobs, queueOf: type => queues.get(type) }),
      timers: {
        ensureMinute: minute =>
          process.call(`schedule minute ${minute}`, () => schedules().ensureMinute(minute), 'scheduler'),
      },
      log: logOf(world, process),
      metrics: { add: () => undefined },
      changeHooks: CHANGE_HOOKS,
    }),
    inboxFor: process => ({
      receive: (type, limits, signal) => {
        const queue = queues.get(type)
        return queue
          ? receive(world, process, queue, limits, signal)
          : missing(process, limits.waitMs, signal)
      },
    }),
  }
}

/** The store of types, which also keeps the types that are paused or being purged. */
function watchedTypes({ history, timeline }: World): {
  readonly store: TypeStore
  readonly isPurging: () => boolean
  readonly paused: () => readonly string[]
} {
  const store = createMemoryTypeStore()
  const purged = new Set<string>()
  const paused = new Set<string>()
  const record = (type: TaskType) =>
    history.record({ at: timeline.now(), by: 'the types', what: 'type', type })
  return {
    isPurging: () => purged.size > 0,
    paused: () => [...paused],
    store: {
      ...store,
      put: async (next, version) => {
        const isPut = await store.put(next, version)
        if (isPut && next.purges) purged.add(next.type)
        else if (isPut) purged.delete(next.type)
        if (isPut && next.paused) paused.add(next.type)
        else if (isPut) paused.delete(next.type)
        if (isPut) record(next)
        return isPut
      },
      markFair: async (next, version) => {
        const isMarked = await store.markFair(next, version)
        if (isMarked) record(next)
        return isMarked
      },
    },
  }
}

/** The store of limits. It records in the history which run holds a permit. */
function watchedLimits({ history, timeline }: World, onLimit: (change: LimitChange) => void): LimitStore {
  const store = createMemoryLimitStore(onLimit)
  const record = (limit: string, holder: string, isHeld: boolean) =>
    history.record({ at: timeline.now(), by: 'the limits', what: 'permit', limit, holder, isHeld })
  return {
    ...store,
    acquire: async (limit, holder, max) => {
      const usedUp = await store.acquire(limit, holder, max)
      if (!usedUp) record(limit, holder.holder, true)
      return usedUp
    },
    release: async (limit, holder, releasing) => {
      const left = await store.release(limit, holder, releasing)
      if (!left.holders.some(one => one.holder === holder)) record(limit, holder, false)
      return left
    },
  }
}

/** The store with every method as a call of the process. */
function reachedBy<Store extends object>(process: Process, name: string, store: Store): Store {
  const methods = Object.entries(store).map(([method, does]) => [
    method,
    (...args: unknown[]) => process.call(`${name}.${method}`, () => does(...args)),
  ])
  return Object.fromEntries(methods) as Store
}

function messagesFor(
  { history, timeline }: World,
  process: Process,
  { wakes, jobs, queueOf }: Pick<Services, 'wakes' | 'jobs' | 'queueOf'>,
): Messages {
  const { name: by } = process
  /**
   * Sends a batch. Each message fails or succeeds separately, and an outage fails all of them. Failures are an
   * answer, not an exception.
   */
  const sendAll = async <M>(
    operation: string,
    all: readonly M[],
    send: (one: M) => void,
  ): Promise<SendFailure[]> => {
    try {
      return await process.call(
        operation,
        () =>
          all.flatMap((one, index) => {
            if (process.suffers('refused')) return { index, reason: 'this one was refused', transient: true }
            send(one)
            return []
          }),
        'queues',
      )
    } catch (error) {
      return all.map((_, index) => ({ index, reason: String(error), transient: true }))
    }
  }
  return {
    dispatch: dispatches =>
      sendAll<Dispatch>(
        `send ${dispatches.length} dispatches`,
        dispatches,
        ({ task, delaySeconds, passedOn = 0, hops = 0, freed }) => {
          const { id, born, revision } = task
          history.record({ at: timeline.now(), by, what: 'dispatched', id, born, revision })
          queueOf(workOf(task).type)?.send({ task, passedOn, hops, ...(freed && { freed }) }, delaySeconds)
        },
      ),
    look: looks =>
      sendAll<Look>(`send ${looks.length} looks`, looks, look =>
        wakes.send({ kind: 'look', look }, look.delaySeconds),
      ),
    lookAtMinute: look =>
      process.call('send a minute', () => wakes.send({ kind: 'minute-shard', look }, 0), 'queues'),
    lookAtCanvases: looks =>
      sendAll<CanvasLook>(`send ${looks.length} looks at canvases`, looks, look =>
        jobs.send({ kind: 'canvas', look }, look.delaySeconds),
      ),
    lookAtLimits: looks =>
      sendAll<LimitLook>(`send ${looks.length} looks at limits`, looks, look =>
        wakes.send({ kind: 'limit', look }, look.delaySeconds),
      ),
    continueJobs: looks =>
      sendAll<JobLook>(`send ${looks.length} jobs`, looks, look =>
        jobs.send({ kind: 'job', look }, look.delaySeconds),
      ),
    backlog: type => process.call('read a backlog', () => queueOf(type)?.visible(), 'queues'),
    waitingJobs: () => process.call('read how many jobs wait', () => jobs.visible(), 'queues'),
  }
}

/** The receive of a queue that does not exist, as in the adapter: it is tried again only after a while. */
async function missing(process: Process, waitMs: number, signal: AbortSignal | undefined): Promise<[]> {
  await process.call('receive', () => undefined, 'queues')
  await process.clock.sleep(Math.min(waitMs, MISSING_QUEUE_PAUSE_MS), signal)
  return []
}

/** Long polling: returns when a message is visible, after `waitMs`, or when the signal aborts. */
async function receive(
  { timeline, history }: World,
  process: Process,
  queue: Queue<Dispatched>,
  { max, waitMs }: { readonly max: number; readonly waitMs: number },
  signal: AbortSignal | undefined,
): ReturnType<Inbox['receive']> {
  const received = await process.call<Received<Dispatched>[]>(
    'receive',
    () =>
      new Promise(resolve => {
        const end = () => {
          stop()
          cancel()
          resolve(process.isAlive() && !signal?.aborted ? queue.receive(max) : [])
        }
        const stop = queue.onVisible(() => queue.visible() > 0 && end())
        const cancel = timeline.at(timeline.now() + waitMs, end)
        signal?.addEventListener('abort', end, { once: true })
        process.onDeath(end)
        if (queue.visible() > 0 || signal?.aborted) end()
      }),
    'queues',
  )
  for (const { body } of received)
    history.record({ at: timeline.now(), by: process.name, what: 'delivered', task: body.task })
  return received.map(one => ({
    ...one.body,
    done: () => process.call('delete a message', () => queue.delete(one), 'queues'),
    putBack: async (delaySeconds, passedOn = one.body.passedOn) => {
      const copy = { task: one.body.task, passedOn }
      await process.call('send a copy of a message', () => queue.send(copy, delaySeconds), 'queues')
      await process.call('delete a message', () => queue.delete(one), 'queues')
    },
  }))
}

/**
 * The log of a process. Code that catches every error must not hide its own mistakes, so logged ones are
 * recorded as unexpected errors.
 */
function logOf({ history, timeline }: World, { name }: Process): Log {
  const line =
    (level: string): Log['info'] =>
    (message, fields = {}) => {
      const at = timeline.now()
      history.note(at, name, () => `${level}: ${message} ${JSON.stringify(fields, plainErrors)}`)
      const mistake = [fields.error, fields.reason].find(isMistake)
      if (mistake !== undefined) history.record({ at, by: name, what: 'unexpected-error', error: mistake })
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** Whether a value is an error that JavaScript itself throws, or its text. */
function isMistake(value: unknown): boolean {
  return /^(Type|Reference|Range|Syntax)Error/.test(String(value))
}

function plainErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? String(value) : value
}
