import type { BatonEvent } from '../core/events/event-types.ts'
import type { Events, LateEventQueue, LateEvents } from '../ports/messages.ts'

/** Events that are told to nobody: each that was published, in order. */
export function createMemoryEvents(): Events & { readonly published: BatonEvent[] } {
  const told: BatonEvent[] = []
  return {
    published: told,
    publish: async events => {
      told.push(...events)
      return []
    },
  }
}

/** Late events that stay where they are put. */
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
