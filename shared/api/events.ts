import type { BatonEvent } from '../core/events/events.ts'
import { anyOf, listOf, optional, strict } from '../core/rules/compound.ts'
import { oneOf, text } from '../core/rules/scalars.ts'
import { EVENT_TYPES } from '../core/states.ts'

const eventType = oneOf(...EVENT_TYPES)
const eventText = text()

/** The query of the event stream. The local cloud answers this route itself; no function runs. */
export const eventsQuery = strict({
  /** Only events of these types. @default every type */
  type: optional(anyOf('the type of an event, or a list of them', [eventType, listOf(eventType)])),
  /** Only events of tasks of these types. @default every type */
  taskType: optional(anyOf('text, or a list of texts', [eventText, listOf(eventText)])),
  /** Only events of these tasks. @default every task */
  taskId: optional(anyOf('text, or a list of texts', [eventText, listOf(eventText)])),
  /** The events after this one are shown, as with the header `Last-Event-ID`. @default the events from now on */
  lastEventId: optional(eventText),
})

/** Something that has happened. An event that is delivered twice has the same id. */
export type ApiEvent = Omit<BatonEvent, 'at'> & { readonly at: string }
