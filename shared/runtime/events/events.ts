/**
 * Events say what became of tasks and workers. This room derives them from the changes in the table's stream,
 * publishes them on the event bus for types that ask for it, and counts outcomes as metrics. Events that cannot be
 * published now are put aside and published later: no change waits for the bus.
 */
import type { BatonEvent } from '../../core/events/event-types.ts'
import { eventsOf, type WorkerChange, workerEvent } from '../../core/events/events.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { type EventSystem, postponeEvents, publishOrLog, RETRY_S_MIN } from './publish-late-events.ts'

/** A change of the stream, as it is told of. */
export type StreamChange = { readonly position: string } & (
  | { readonly task: Task }
  | { readonly worker: WorkerChange }
)

/** Tells changes; answers the positions of those that must come again. */
type Teller = (changes: readonly StreamChange[]) => Promise<string[]>

/**
 * Tells what happened, of all changes of a batch in their order. What cannot be told now is put aside and told later:
 * changes that came again would block their shard, and telling must never keep a task from being planned. For the same
 * reason nothing is tried for a while after a failure, since a service that hangs would hold up every batch.
 */
export function createEventPublisher(system: EventSystem): Teller {
  const isAsked = callerOf(system)
  let failedAt: Moment | undefined
  const untold = async (events: readonly BatonEvent[]) => {
    if (failedAt && isWithin(system.clock, failedAt, RETRY_S_MIN * 1_000)) return [...events]
    const failures = await publishOrLog(system, events)
    if (failures.length > 0) failedAt = momentOf(system.clock)
    return failures.flatMap(({ index }) => events[index] ?? [])
  }
  return async changes => {
    const told = await Promise.all(changes.map(change => asked(system, change, isAsked)))
    const unread = told.filter(({ isUnread }) => isUnread)
    const events = told.flatMap(one => one.events)
    const aside = events.length > 0 ? await untold(events) : []
    const lost = new Set(aside.length > 0 ? await postponeEvents(system, aside) : [])
    const again = told.filter(one => one.events.some(event => lost.has(event)))
    return [...unread, ...again].map(({ position }) => position)
  }
}

type Asked = {
  readonly position: string
  readonly events: readonly BatonEvent[]
  /** Whether anybody asks for it could not be read. */
  readonly isUnread?: true
}

/** The events of a change that somebody asks for. Types are read only where there is something to tell. */
async function asked(
  { log }: EventSystem,
  change: StreamChange,
  isAsked: (events: readonly BatonEvent[], change: StreamChange) => Promise<boolean>,
): Promise<Asked> {
  const { position } = change
  const events = eventsIn(log, change)
  if (events.length === 0) return { position, events }
  try {
    return { position, events: (await isAsked(events, change)) ? events : [] }
  } catch (error) {
    log.warn('who asks for events could not be read', { error, events })
    return { position, events: [], isUnread: true }
  }
}

/** A change that cannot be made sense of is told to nobody, and holds up no other. */
function eventsIn(log: EventSystem['log'], change: StreamChange): readonly BatonEvent[] {
  try {
    return 'worker' in change ? [workerEvent(change.worker)] : eventsOf(change.task)
  } catch (error) {
    log.error('skipped the events of a change that cannot be read', { error, position: change.position })
    return []
  }
}

/** What happens to tasks is asked for by their type; canvases, schedules and workers have none, and go with any. */
function callerOf(system: EventSystem) {
  if (system.scope === 'all') return async () => true
  const typeOf = cachedTypeReader(system)
  const anyType = cachedTypeReader({
    clock: system.clock,
    types: { ...system.types, get: () => firstAsking(system) },
  })
  return async ([event]: readonly BatonEvent[], change: StreamChange) => {
    const isOfType = event?.type.startsWith('task.') && 'task' in change
    return asks(await (isOfType ? typeOf(change.task.type) : anyType('*')))
  }
}

async function firstAsking({ types }: EventSystem): Promise<TaskType | undefined> {
  return (await types.list()).find(asks)
}

function asks(type: TaskType | undefined): boolean {
  return type?.configuration.events === true
}
