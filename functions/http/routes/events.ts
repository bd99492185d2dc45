import { eventsQuery } from '../../../shared/api/events.ts'
import { problem } from '../../../shared/present/problems.ts'
import { answerProblem, route } from '../route.ts'

const HINT =
  "server-sent events are for the local system; here events go to the system's EventBridge bus (output EventBusName): add a rule with source 'baton' to it, and register types with events: true"

export const eventRoutes = [
  route({
    method: 'get',
    path: '/v1/events',
    operation: 'events',
    query: eventsQuery,
    handle: async () => answerProblem(problem('not-here', HINT)),
  }),
]
