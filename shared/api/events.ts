import * as z from 'zod'
import { type BatonEvent, EVENT_TYPES } from '../core/events/event-types.ts'
import { optional, strict } from './scalars.ts'

const eventType = z.enum(EVENT_TYPES)
const text = z.string()

/** The query of the event stream. The local cloud answers this route itself; no function runs. */
export const eventsQuery = strict({
  /** Only events of these types. @default every type */
  type: optional(z.union([eventType, z.array(eventType)])),
  /** Only events of tasks of these types. @default every type */
  taskType: optional(z.union([text, z.array(text)])),
  /** Only events of these tasks. @default every task */
  taskId: optional(z.union([text, z.array(text)])),
  /** The events after this one are shown, as with the header `Last-Event-ID`. @default the events from now on */
  lastEventId: optional(text),
})

/** Something that has happened. An event that is delivered twice has the same id. */
export type ApiEvent = Omit<BatonEvent, 'at'> & { readonly at: string }
