import type { BatonEvent } from '../../../../shared/core/events/events.ts'
import type { LateEvents } from '../../../../shared/ports/messages.ts'
import type { System } from '../../../../shared/runtime/kernel/system.ts'
import { type EventSystem, publishLateEvents } from '../../../../shared/runtime/stream/events.ts'
import type { Process } from '../process.ts'
import type { Sandboxes } from '../sandboxes.ts'
import type { World } from '../world.ts'

/** The event bus, and the queue of the events that could not be published at once. */
export type EventBus = {
  /** The system of a process that publishes events. */
  systemFor(process: Process, system: System): EventSystem
  /** Whether no event waits to be published later. */
  isIdle(): boolean
}

/** How long after the death of its process a message with late events is delivered again. */
const AGAIN_AFTER_MS = 30_000

export function createEventBus(world: World, sandboxes: Sandboxes): EventBus {
  const { timeline, history } = world
  let waiting = 0
  const publishFor = (process: Process) => async (events: readonly BatonEvent[]) => {
    try {
      const take = () => history.record({ at: timeline.now(), by: 'the event bus', what: 'events', events })
      await process.call('publish events', take, 'queues')
      return []
    } catch (error) {
      return events.map((_, index) => ({ index, reason: String(error), transient: true }))
    }
  }
  const systemFor = (process: Process, { types, clock, log }: System): EventSystem => ({
    types,
    clock,
    log,
    events: { publish: publishFor(process) },
    lateEventQueue: {
      put: async late => {
        try {
          await process.call('postpone events', () => late.forEach(deliverLater), 'queues')
          return []
        } catch (error) {
          return late.map((_, index) => ({ index, reason: String(error), transient: true }))
        }
      },
    },
    scope: 'all',
  })
  const deliverLater = (late: LateEvents & { readonly delaySeconds: number }) => {
    waiting += 1
    timeline.at(timeline.now() + late.delaySeconds * 1_000, () => void deliver(late))
  }
  const deliver = async (late: LateEvents) => {
    const isDone = await sandboxes.invoke('late events', ({ process, system }) =>
      publishLateEvents(systemFor(process, system), late),
    )
    if (isDone) waiting -= 1
    else timeline.at(timeline.now() + AGAIN_AFTER_MS, () => void deliver(late))
  }
  return { systemFor, isIdle: () => waiting === 0 }
}
