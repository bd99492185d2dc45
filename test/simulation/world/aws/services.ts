import {
  createHeadReader,
  createTaskCodec,
  type HeadReader,
} from '../../../../shared/aws/dynamo/head/head-reader.ts'
import { PERMITS_SORT_KEY, shardOfPermits, TYPES_PARTITION } from '../../../../shared/aws/dynamo/keys.ts'
import { permitsFromItem } from '../../../../shared/aws/dynamo/limits/limit-requests.ts'
import { createActivityStore } from '../../../../shared/aws/dynamo/stores/activity-store.ts'
import { storesOn } from '../../../../shared/aws/dynamo/stores/stores.ts'
import { typeFromItem } from '../../../../shared/aws/dynamo/stores/type-store.ts'
import { createDispatchReader, type DispatchReader } from '../../../../shared/aws/sqs/read-dispatch.ts'
import {
  encodeCanvasLook,
  encodeDispatch,
  encodeJob,
  encodeLimitLook,
  encodeLook,
  encodeMinute,
} from '../../../../shared/aws/sqs/wire.ts'
import { WORKER_VISIBILITY_S } from '../../../../shared/core/bounds.ts'
import type { LimitLook } from '../../../../shared/core/limits/line.ts'
import { workOf } from '../../../../shared/core/task/piece.ts'
import type { JobLook, TaskType } from '../../../../shared/core/types/task-type.ts'
import type { Log } from '../../../../shared/ports/machine.ts'
import type {
  CanvasLook,
  Delivery,
  Dispatch,
  Inbox,
  Look,
  Messages,
  SendFailure,
  TaskCodec,
} from '../../../../shared/ports/messages.ts'
import { CHANGE_HOOKS } from '../../../../shared/runtime/change-hooks.ts'
import type { PlanningSystem } from '../../../../shared/runtime/kernel/system.ts'
import { MEMORY_TABLE } from '../../../../shared/testing/stores/memory-stores.ts'
import type { ItemChange } from '../../../../shared/testing/table/contents.ts'
import { withFaults } from '../faults.ts'
import type { Process } from '../process.ts'
import type { World } from '../world.ts'
import { createQueue, type Queue, type Received } from './queue.ts'
import type { Schedules } from './schedules.ts'
import type { Table } from './table.ts'

/** The services of a world, and all ports on them as one process reaches them. Messages have the texts that the adapter gives them. */
export type Services = {
  readonly wakes: Queue
  /** The queue of long jobs and large canvases. */
  readonly jobs: Queue
  /** The queue of a type; undefined when no handler of it is deployed. */
  queueOf(type: string): Queue | undefined
  /** Creates the queue of a type, as the deployment of its handler does. */
  addQueue(type: string, servedBy: 'lambda' | 'workers'): Queue
  /** Deletes the queue of a type with its messages. */
  removeQueue(type: string): void
  systemFor(process: Process): PlanningSystem
  /** The reader of heads in the records of the stream, as one process has it. */
  headsOf(process: Process): HeadReader
  /** Reads dispatches, as one process does. */
  readerOf(process: Process): DispatchReader
  inboxFor(process: Process): Inbox
}

/** How long a receive waits when the queue does not exist, as in the adapter. */
const MISSING_QUEUE_PAUSE_MS = 10_000
/** Visibility timeouts. For functions they are six times the function's timeout, as the constructs set them. */
const VISIBILITY_MS = { wakes: 180_000, jobs: 360_000, lambda: 720_000, workers: WORKER_VISIBILITY_S * 1_000 }

export function createServices(
  world: World,
  { table, schedules }: { readonly table: Table; readonly schedules: () => Schedules },
): Services {
  const wakes = createQueue(world, 'wake', VISIBILITY_MS.wakes)
  const jobs = createQueue(world, 'jobs', VISIBILITY_MS.jobs)
  const queues = new Map<string, Queue>()
  const readers = new WeakMap<Process, HeadReader>()

  const headsOf = (process: Process) => {
    const reader = readers.get(process) ?? createHeadReader(table.documentsFor(process), MEMORY_TABLE)
    readers.set(process, reader)
    return reader
  }
  const codecOf = (process: Process) => createTaskCodec(headsOf(process))
  const readerOf = (process: Process) =>
    createDispatchReader({
      codec: codecOf(process),
      tasks: storesFor(world, process, table).tasks,
      log: logOf(world, process),
    })

  return {
    wakes,
    jobs,
    headsOf,
    readerOf,
    queueOf: type => queues.get(type),
    addQueue: (type, servedBy) => {
      const queue = queues.get(type) ?? createQueue(world, type, VISIBILITY_MS[servedBy])
      queues.set(type, queue)
      return queue
    },
    removeQueue: type => {
      queues.get(type)?.drop()
      queues.delete(type)
    },
    systemFor: process => ({
      clock: process.clock,
      chance: process.chance,
      ...storesFor(world, process, table),
      messages: messagesFor(world, process, {
        ...{ wakes, jobs, queueOf: type => queues.get(type) },
        codec: codecOf(process),
      }),
      timers: {
        ensureMinute: minute =>
          process.call(`schedule minute ${minute}`, () => schedules().ensureMinute(minute), 'scheduler'),
      },
      log: logOf(world, process),
      metrics: metricsOf(world, process),
      changeHooks: CHANGE_HOOKS,
    }),
    inboxFor: process => {
      const [codec, readDispatch] = [codecOf(process), readerOf(process)]
      return {
        receive: (type, limits, signal) => {
          const queue = queues.get(type)
          return queue
            ? receive(world, process, { queue, codec, readDispatch }, limits, signal)
            : missing(process, limits.waitMs, signal)
        },
      }
    },
  }
}

/** The stores of the system, as one process has them. */
function storesFor(world: World, process: Process, table: Table) {
  const documents = table.documentsFor(process)
  let writes = 0
  const newWriteId = () => {
    writes += 1
    return `${process.name} ${writes}`
  }
  const { clock, chance } = process
  const settings = { table: MEMORY_TABLE, clock, chance, newWriteId, log: logOf(world, process) }
  const stores = storesOn(documents, settings)
  return {
    ...stores,
    tasks: withFaults(world.scenario, stores.tasks),
    activity: createActivityStore(documents, settings),
  }
}

/** Reads the writes of the table: it records changes of types and permits, and keeps which types are paused or being purged. */
export type TypeWatch = {
  see(change: ItemChange): void
  /** Whether a purge is under way. */
  isPurging(): boolean
  /** The types that are paused now. */
  paused(): readonly string[]
}

export function watchTypes({ history, timeline }: World): TypeWatch {
  const purged = new Set<string>()
  const paused = new Set<string>()
  const seeType = (type: TaskType) => {
    for (const [types, isIn] of [
      [purged, type.purges],
      [paused, type.paused],
    ] as const) {
      if (isIn) types.add(type.type)
      else types.delete(type.type)
    }
    history.record({ at: timeline.now(), by: 'the types', what: 'type', type })
  }
  const seePermits = ({ key, before, after }: ItemChange) => {
    const [held, holding] = [before, after].map(item =>
      permitsFromItem(item).holders.map(({ holder }) => holder),
    )
    const { limit } = shardOfPermits(key.pk)
    const record = (holder: string, isHeld: boolean) =>
      history.record({ at: timeline.now(), by: 'the limits', what: 'permit', limit, holder, isHeld })
    for (const holder of held ?? []) if (!holding?.includes(holder)) record(holder, false)
    for (const holder of holding ?? []) if (!held?.includes(holder)) record(holder, true)
  }
  return {
    isPurging: () => purged.size > 0,
    paused: () => [...paused],
    see: change => {
      if (change.key.pk === TYPES_PARTITION && change.after) seeType(typeFromItem(change.after))
      if (change.key.sk === PERMITS_SORT_KEY) seePermits(change)
    },
  }
}

function messagesFor(
  { history, timeline }: World,
  process: Process,
  {
    wakes,
    jobs,
    queueOf,
    codec,
  }: Pick<Services, 'wakes' | 'jobs' | 'queueOf'> & { readonly codec: TaskCodec },
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
    // As in the adapter: nothing to send makes no request.
    if (all.length === 0) return []
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
          const body = encodeDispatch(codec, { task, passedOn, hops, ...(freed && { freed }) })
          queueOf(workOf(task).type)?.send(body, delaySeconds)
        },
      ),
    look: looks =>
      sendAll<Look>(`send ${looks.length} looks`, looks, look =>
        wakes.send(encodeLook(look), look.delaySeconds),
      ),
    lookAtMinute: look => process.call('send a minute', () => wakes.send(encodeMinute(look), 0), 'queues'),
    lookAtCanvases: looks =>
      sendAll<CanvasLook>(`send ${looks.length} looks at canvases`, looks, look =>
        jobs.send(encodeCanvasLook(look), look.delaySeconds),
      ),
    lookAtLimits: looks =>
      sendAll<LimitLook>(`send ${looks.length} looks at limits`, looks, look =>
        wakes.send(encodeLimitLook(look), look.delaySeconds),
      ),
    continueJobs: looks =>
      sendAll<JobLook>(`send ${looks.length} jobs`, looks, look =>
        jobs.send(encodeJob(look), look.delaySeconds),
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
  {
    queue,
    codec,
    readDispatch,
  }: { readonly queue: Queue; readonly codec: TaskCodec; readonly readDispatch: DispatchReader },
  { max, waitMs }: { readonly max: number; readonly waitMs: number },
  signal: AbortSignal | undefined,
): ReturnType<Inbox['receive']> {
  const received = await process.call<Received[]>(
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
  const deliveryOf = async (message: Received): Promise<Delivery[]> => {
    const done = () => process.call('delete a message', () => queue.delete(message), 'queues')
    const dispatch = await readDispatch(message.body).catch(() => 'later' as const)
    if (dispatch === 'later') return []
    if (!dispatch) {
      await done()
      return []
    }
    history.record({ at: timeline.now(), by: process.name, what: 'delivered', task: dispatch.task })
    return [
      {
        ...dispatch,
        done,
        putBack: async (delaySeconds, passedOn = dispatch.passedOn) => {
          const copy = encodeDispatch(codec, { task: dispatch.task, passedOn })
          await process.call('send a copy of a message', () => queue.send(copy, delaySeconds), 'queues')
          await done()
        },
      },
    ]
  }
  return (await Promise.all(received.map(deliveryOf))).flat()
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
      if (message.startsWith('a task is left out')) {
        history.record({ at, by: name, what: 'left-out', id: String(fields.taskId) })
      }
      const mistake = [fields.error, fields.reason].find(isMistake)
      if (mistake !== undefined) history.record({ at, by: name, what: 'unexpected-error', error: mistake })
    }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** The metrics of a process. Alarms watch the number of stuck tasks, so it is recorded. */
function metricsOf({ history, timeline }: World, { name: by }: Process): PlanningSystem['metrics'] {
  return {
    add: (name, tasks, type) => {
      if (name === 'Stuck') history.record({ at: timeline.now(), by, what: 'stuck', type, tasks })
    },
  }
}

/** Whether a value is an error that JavaScript itself throws, or its text. */
function isMistake(value: unknown): boolean {
  return /^(Type|Reference|Range|Syntax)Error/.test(String(value))
}

function plainErrors(_name: string, value: unknown): unknown {
  return value instanceof Error ? String(value) : value
}
