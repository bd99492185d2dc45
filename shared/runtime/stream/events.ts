import { type BatonEvent, eventsOf, type WorkerChange, workerEvent } from '../../core/events/events.ts'
import type { EventType } from '../../core/states.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { failuresOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { isItemFault } from '../../core/values/values.ts'
import type { Log, MetricName, Metrics } from '../../ports/machine.ts'
import type { Events, LateEventQueue, LateEvents, SendFailure } from '../../ports/messages.ts'
import { isWithin, type Moment, momentOf, type System } from '../kernel/system.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { type Batch, countableChanges, type TaskChange } from './stream.ts'

/**
 * Events say what happened to tasks and workers. This room derives them from the changes in the table's stream, publishes them on the event
 * bus for types that ask for it, and counts outcomes as metrics. No change waits for the bus.
 */

/** A change of the table's stream that may cause events. */
export type StreamChange = { readonly position: string } & (
  | { readonly task: Head }
  | { readonly worker: WorkerChange }
)

/** Publishes the events of changes; returns the positions of the changes that Lambda must deliver again. */
export type EventPublisher = (changes: readonly StreamChange[]) => Promise<string[]>

/**
 * Creates the publisher of events. It publishes the events of all changes of a batch, in their order.
 *
 * Events that cannot be published now are postponed. If Lambda delivered their changes again instead, these would
 * block their shard, and publishing must never keep a task from being planned. For the same reason nothing is
 * published for a while after a failure: a bus that hangs would delay every batch.
 */
export function createEventPublisher(system: EventSystem): EventPublisher {
  const areWanted = createEventFilter(system)
  let failedAt: Moment | undefined
  const tryToPublish = async (events: readonly BatonEvent[]) => {
    if (failedAt && isWithin(system.clock, failedAt, RETRY_S_MIN * 1_000)) return [...events]
    const failures = await publishOrLog(system, events)
    if (failures.length > 0) failedAt = momentOf(system.clock)
    return failures.flatMap(({ index }) => events[index] ?? [])
  }
  return async changes => {
    const changesWithEvents = await Promise.all(
      changes.map(change => wantedEvents(system, change, areWanted)),
    )
    const unread = changesWithEvents.filter(({ isUnread }) => isUnread)
    const events = changesWithEvents.flatMap(one => one.events)
    const postponed = events.length > 0 ? await tryToPublish(events) : []
    const notPostponed = new Set(postponed.length > 0 ? await postponeEvents(system, postponed) : [])
    const again = changesWithEvents.filter(one => one.events.some(event => notPostponed.has(event)))
    return [...unread, ...again].map(({ position }) => position)
  }
}

type ChangeEvents = {
  readonly position: string
  readonly events: readonly BatonEvent[]
  /** The types that may ask for the events could not be read. */
  readonly isUnread?: true
}

/**
 * Returns the events of a change if a type asks for them. It reads types only for changes that cause events. A type that cannot be read
 * stays so, and its tasks must not block their shards. So it has no events until it is repaired.
 */
async function wantedEvents(
  { log }: EventSystem,
  change: StreamChange,
  areWanted: (events: readonly BatonEvent[], change: StreamChange) => Promise<boolean>,
): Promise<ChangeEvents> {
  const { position } = change
  const events = eventsIn(log, change)
  if (events.length === 0) return { position, events }
  try {
    return { position, events: (await areWanted(events, change)) ? events : [] }
  } catch (error) {
    if (isItemFault(error)) {
      log.error('skipped the events of a change, since a type cannot be read', { error, events })
      return { position, events: [] }
    }
    log.warn('the types that ask for events could not be read; Lambda delivers the change again', {
      error,
      events,
    })
    return { position, events: [], isUnread: true }
  }
}

/** The events that a change causes. A change that cannot be read causes none and delays no other change. */
function eventsIn(log: EventSystem['log'], change: StreamChange): readonly BatonEvent[] {
  try {
    return 'worker' in change ? [workerEvent(change.worker)] : eventsOf(change.task)
  } catch (error) {
    log.error('skipped the events of a change that cannot be read', { error, position: change.position })
    return []
  }
}

/**
 * Decides whether events are wanted. The type of a task decides for its events; events of canvases,
 * schedules and workers are published when any type asks.
 */
function createEventFilter(system: EventSystem) {
  if (system.scope === 'all') return async () => true
  const typeOf = cachedTypeReader(system)
  const anyType = cachedTypeReader({
    clock: system.clock,
    types: { ...system.types, get: async () => (await system.types.list()).find(wantsEvents) },
  })
  return async ([event]: readonly BatonEvent[], change: StreamChange) => {
    const isOfType = event?.type.startsWith('task.') && 'task' in change
    return wantsEvents(await (isOfType ? typeOf(change.task.type) : anyType('*')))
  }
}

function wantsEvents(type: TaskType | undefined): boolean {
  return type?.configuration.events === true
}

type Outputs = { readonly metrics: Metrics; readonly log: Log }

/** The metric that each event counts as. It follows from the one change that causes the event. */
const METRIC_OF_EVENT: Partial<Record<EventType, MetricName>> = {
  'task.published': 'Published',
  'task.succeeded': 'Succeeded',
  'task.failed': 'Failed',
  'task.needs-attention': 'NeedsAttention',
}

/**
 * Counts the outcomes of tasks from the changes in the table's stream, which has every change, whichever process wrote it.
 *
 * Lambda delivers a batch again from its first failed record on. So only the records before that one count now, and the rest counts at a
 * later delivery. Each change counts once, however often its batch is delivered. There is one exception: the batch counts twice if the
 * process dies after it has written its metrics and before Lambda has its answer.
 */
export function countOutcomes({ metrics, log }: Outputs, changes: readonly TaskChange[], batch: Batch): void {
  for (const { task } of countableChanges(changes, batch)) {
    try {
      for (const name of metricsOf(task)) metrics.add(name, 1, task.type)
    } catch (error) {
      log.error('a change cannot be read, so it is not counted', { error, taskId: task.id })
    }
  }
}

function metricsOf(task: Head): MetricName[] {
  const counted = eventsOf(task).flatMap(({ type }) => METRIC_OF_EVENT[type] ?? [])
  return isTask(task) && isRetry(task) ? [...counted, 'Retried'] : counted
}

/**
 * Whether a change begins a retry. A claim begins exactly one run; it is a retry if the retry budget of its
 * piece counts an earlier failed or lost run.
 */
function isRetry(task: Task): boolean {
  const run = task.operation === 'claim' ? task.live[task.fence] : undefined
  if (!run) return false
  const { scope } = task.options.retry
  return (scope === 'worker' ? failuresOf(task, run.workerId) : task.failures) > 0
}

/** What publishing events needs of the system. */
export type EventSystem = Pick<System, 'types' | 'clock' | 'log'> & {
  readonly events: Events
  readonly lateEventQueue: LateEventQueue
  /**
   * `types`: events of types that ask for them, and events that belong to no type once one type asks. `all`:
   * all events, whatever the types say.
   */
  readonly scope: 'types' | 'all'
}

type LateSystem = Pick<EventSystem, 'events' | 'lateEventQueue' | 'log'>

/** One request takes ten events, and so does one message with postponed events. */
const BATCH_EVENTS = 10
/** The delay of the first retry; each further retry waits twice as long. */
const RETRY_S_MIN = 2
const RETRY_S_MAX = 900
/** Some two days of retries, most of them a quarter of an hour apart. */
const HOPS_MAX = 200

/** Publishes postponed events; returns whether their message can be deleted. */
export async function publishLateEvents(system: LateSystem, { events, hops }: LateEvents): Promise<boolean> {
  const failed = await publishOrLog(system, events)
  if (failed.length === 0) return true
  const left = failed.flatMap(({ index }) => events[index] ?? [])
  if (hops >= HOPS_MAX) {
    system.log.error('events were never published', { hops, events: left, reason: failed[0]?.reason })
    return true
  }
  return (await postponeEvents(system, left, hops + 1)).length === 0
}

/** Publishes events; returns the failures that are worth another try. A permanent refusal is logged. */
async function publishOrLog(system: LateSystem, events: readonly BatonEvent[]): Promise<SendFailure[]> {
  const failures = await system.events.publish(events)
  for (const { index, reason, transient } of failures) {
    if (!transient) system.log.error('an event is refused', { event: events[index], reason })
  }
  return failures.filter(({ transient }) => transient)
}

/**
 * Sends events in delayed messages, which publish them later. Returns the events whose message could not be sent and is worth another try.
 */
async function postponeEvents(
  { lateEventQueue, log }: LateSystem,
  events: readonly BatonEvent[],
  hops = 0,
): Promise<BatonEvent[]> {
  const delaySeconds = Math.min(RETRY_S_MIN * 2 ** hops, RETRY_S_MAX)
  const late = batchesOf(events).map(batch => ({ events: batch, hops, delaySeconds }))
  const failures = await lateEventQueue.put(late)
  log.warn('events are postponed', { events: events.length, hops, delaySeconds })
  for (const failure of failures) log.error('events could not be postponed', failure)
  return failures.flatMap(({ index, transient }) => (transient ? (late[index]?.events ?? []) : []))
}

function batchesOf(events: readonly BatonEvent[]): BatonEvent[][] {
  const count = Math.ceil(events.length / BATCH_EVENTS)
  return Array.from({ length: count }, (_, at) => events.slice(at * BATCH_EVENTS, (at + 1) * BATCH_EVENTS))
}
