import { type Step, shows } from './exchange.ts'

/** Failures, dead letters and workers are looked at. */
export const observingSteps: readonly Step[] = [
  shows('startBulk', 'begun', 202, 'The failed tasks of a type are counted, as for a retry', {
    body: { action: 'retry', type: 'resize', status: ['failed'], dryRun: true },
  }),
  shows('startBulk', 'invalid', 400, 'A status in which no task can be cancelled', {
    body: { action: 'cancel', type: 'resize', status: ['failed'] },
  }),
  { path: '/v1/activity?type=resize', until: ({ items }) => items[0]?.minutes.length > 0 },
  shows('listActivity', 'page', 200, 'The last five minutes of a type', {
    query: { type: ['resize'], minutes: 5 },
  }),
  { path: '/v1/failures?type=resize', until: ({ items }) => items.length > 0 },
  shows('listFailures', 'page', 200, 'Why tasks of a type have failed', {
    query: { type: ['resize'], limit: 10 },
  }),
  shows('listFailures', 'unknown-type', 404, 'A type that is not registered', {
    query: { type: ['resise'] },
  }),
  { lost: 'resize:img-2' },
  shows('listDeadLetters', 'page', 200, 'The messages that the wake queue gave up', {
    query: { queue: 'wake', limit: 10 },
  }),
  shows(
    'replayDeadLetters',
    'sent',
    200,
    'One message is sent again, and another one is not known',
    answerOf => ({
      body: { ids: [answerOf('listDeadLetters', 'page').items[0].id, 'wake~01795942800000~none'] },
    }),
  ),
  shows('replayDeadLetters', 'invalid', 400, 'Neither ids nor a queue', { body: {} }),
  shows('attention', 'answer', 200, 'What waits for an operator'),
  shows('attention', 'invalid', 400, 'A field that the query does not have', { query: { since: 1 } }),
  shows('listBulks', 'page', 200, 'No bulk operation has begun: dry runs are not listed'),
  shows('getBulk', 'finished', 200, 'The tasks are counted', answerOf => ({
    path: { id: answerOf('startBulk', 'begun').id },
  })),
  shows('listWorkers', 'page', 200, 'The live workers', { query: { limit: 10 } }),
  shows('events', 'stream', 200, 'The local system streams the events of a task', {
    query: { taskId: 'resize:img-2' },
    isStream: true,
  }),
  shows('events', 'deployed', 501, 'A deployed system sends its events to EventBridge', {
    query: { taskId: 'resize:img-2' },
  }),
  shows('health', 'answers', 200, 'The API answers'),
]
