import { eventsQuery } from '../../api/events.ts'
import { answerProblem, operation } from '../operation.ts'
import { problem } from '../present/problems.ts'

const HINT =
  "server-sent events are for the local system; here events go to the system's EventBridge bus (output EventBusName): add a rule with source 'baton' to it, and register types with events: true"

export const eventOperations = [
  operation({
    name: 'events',
    tag: 'Observing',
    summary: 'Follow events',
    description:
      "Streams events as server-sent events: only the local system does so. A deployed API answers 501, because there the events go to the system's bus of EventBridge. The header `Last-Event-ID`, or `lastEventId`, resumes after an event.",
    answers: {
      200: {
        description:
          'In the local system: one message per event, with its `id`, its type as `event`, and JSON as `data`.',
        contentType: 'text/event-stream',
      },
    },
    problems: ['not-here'],
    query: eventsQuery,
    handle: async () => answerProblem(problem('not-here', HINT)),
  }),
]
