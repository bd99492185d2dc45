import type { BatonEvent } from '../../../shared/core/events/events.ts'
import type { Events, LateEventQueue, LateEvents } from '../../../shared/ports/messages.ts'

/** Keeps published events, in order, and has no subscribers. */
export function createMemoryEvents(): Events & { readonly published: BatonEvent[] } {
  const published: BatonEvent[] = []
  return {
    published,
    publish: async events => {
      published.push(...events)
      return []
    },
  }
}

/** Keeps late events and never publishes them. */
export function createMemoryLateEventQueue(): LateEventQueue & { readonly late: LateEvents[] } {
  const late: LateEvents[] = []
  return {
    late,
    put: async sent => {
      late.push(...sent)
      return []
    },
  }
}
