import type { Step } from './exchange.ts'

/** Failures, dead letters and workers are looked at. */
export const observingSteps: readonly Step[] = [
  { path: '/v1/activity?type=resize', until: ({ items }) => items[0]?.minutes.length > 0 },
  {
    operation: 'listActivity',
    name: 'page',
    title: 'The last five minutes of a type',
    status: 200,
    asks: { query: { type: ['resize'], minutes: 5 } },
  },
  { path: '/v1/failures?type=resize', until: ({ items }) => items.length > 0 },
  {
    operation: 'listFailures',
    name: 'page',
    title: 'Why tasks of a type have failed',
    status: 200,
    asks: { query: { type: ['resize'], limit: 10 } },
  },
  {
    operation: 'listFailures',
    name: 'unknown-type',
    title: 'A type that is not registered',
    status: 404,
    asks: { query: { type: ['resise'] } },
  },
  { lost: 'resize:img-2' },
  {
    operation: 'listDeadLetters',
    name: 'page',
    title: 'The messages that the wake queue gave up',
    status: 200,
    asks: { query: { queue: 'wake', limit: 10 } },
  },
  {
    operation: 'replayDeadLetters',
    name: 'sent',
    title: 'One message is sent again, and another one is not known',
    status: 200,
    asks: answerOf => ({
      body: { ids: [answerOf('listDeadLetters', 'page').items[0].id, 'wake~01795942800000~none'] },
    }),
  },
  {
    operation: 'replayDeadLetters',
    name: 'invalid',
    title: 'Neither ids nor a queue',
    status: 400,
    asks: { body: {} },
  },
  {
    operation: 'listWorkers',
    name: 'page',
    title: 'The live workers',
    status: 200,
    asks: { query: { limit: 10 } },
  },
  {
    operation: 'events',
    name: 'stream',
    title: 'The local system streams the events of a task',
    status: 200,
    asks: { query: { taskId: 'resize:img-2' } },
    isStream: true,
  },
  {
    operation: 'events',
    name: 'deployed',
    title: 'A deployed system sends its events to EventBridge',
    status: 501,
    asks: { query: { taskId: 'resize:img-2' } },
  },
  { operation: 'health', name: 'answers', title: 'The API answers', status: 200, asks: {} },
]
