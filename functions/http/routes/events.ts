import * as z from 'zod'
import { EVENT_TYPES } from '../../../shared/core/events/event-types.ts'
import { problem } from '../problems.ts'
import { answerProblem, route } from '../route.ts'
import { optional, strict } from '../schemas/scalars.ts'

const eventType = z.enum(EVENT_TYPES)
const text = z.string()

/** What the local cloud understands, which answers this route before any function does. */
const query = strict({
  type: optional(z.union([eventType, z.array(eventType)])),
  taskType: optional(z.union([text, z.array(text)])),
  taskId: optional(z.union([text, z.array(text)])),
  lastEventId: optional(text.meta({ description: 'As the header Last-Event-ID: go on behind this event' })),
})

const HINT =
  "server-sent events are for the local system; here events go to the system's EventBridge bus (output EventBusName): add a rule with source 'baton' to it, and register types with events: true"

export const eventRoutes = [
  route({
    method: 'get',
    path: '/v1/events',
    operation: 'events',
    summary: 'What happens, as server-sent events; of the local system only',
    query,
    answers: { 200: { description: 'Locally: events as they come, as text/event-stream' } },
    problems: [501],
    handle: async () => answerProblem(problem('not-here', HINT)),
  }),
]
