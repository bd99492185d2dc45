import * as z from 'zod'
import { type BatonEvent, EVENT_TYPES } from '../core/events/event-types.ts'
import { optional, strict } from './scalars.ts'

const eventType = z.enum(EVENT_TYPES)
const text = z.string()

/** The query of the event stream. The local cloud answers this route itself; no function runs. */
export const eventsQuery = strict({
  type: optional(z.union([eventType, z.array(eventType)])),
  taskType: optional(z.union([text, z.array(text)])),
  taskId: optional(z.union([text, z.array(text)])),
  lastEventId: optional(
    text.meta({ description: 'Continues after this event, as the header Last-Event-ID does' }),
  ),
})

/** Something that has happened. An event that is delivered twice has the same id. */
export type ApiEvent = Omit<BatonEvent, 'at'> & { readonly at: string }
