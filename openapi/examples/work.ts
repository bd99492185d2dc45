import { type AnswerOf, type Body, prepares, type Step } from './exchange.ts'

const image = (number: number) => ({
  type: 'resize',
  key: `img-${number}`,
  input: { url: `https://example.com/${number}.jpg`, width: 200 },
})

/** The run of a claimed task: its names in a path, and its fence. */
function runIn(answerOf: AnswerOf, claim: string, nth = 0) {
  const { task, run }: Body = answerOf('claim', claim).claims[nth]
  return { path: { id: task.id, runId: run.id }, fence: run.fence as number }
}

/** The run of a claimed task, as batches name it. */
function memberIn(answerOf: AnswerOf, claim: string, nth = 0) {
  const { path, fence } = runIn(answerOf, claim, nth)
  return { taskId: path.id, runId: path.runId, fence }
}

const claims = (workerId: string, more: object = {}) => ({ body: { type: 'resize', workerId, ...more } })

const TIMEOUT = { name: 'TimeoutError', message: 'no answer within 5 s' }

const LOG = '2026-11-23T09:00:14.000Z INFO fetching {"width":200}'

/** Workers claim tasks and report about their runs. */
export const workSteps: readonly Step[] = [
  { path: '/v1/tasks/resize:img-1', until: ({ status }) => status === 'ready' },
  {
    operation: 'claim',
    name: 'tasks',
    title: 'A worker takes up to two tasks, and would wait a second for one',
    status: 200,
    asks: claims('worker-1', { limit: 2, waitMs: 1_000 }),
  },
  {
    operation: 'claim',
    name: 'nothing',
    title: 'Nothing waits',
    status: 200,
    asks: { body: { types: ['resize', 'montage'], workerId: 'worker-2', workerVersion: '1.4.0' } },
  },
  {
    operation: 'claim',
    name: 'too-many-waiting',
    title: 'Nothing waits, and as many claims wait as may',
    status: 429,
    asks: { body: { type: 'montage', workerId: 'worker-2', workerVersion: '1.4.0', waitMs: 20_000 } },
    isCrowded: true,
  },
  {
    operation: 'claim',
    name: 'handler',
    title: 'A type that handlers serve',
    status: 409,
    asks: { body: { type: 'report', workerId: 'worker-1' } },
  },
  {
    operation: 'claim',
    name: 'unknown-type',
    title: 'A type that is not registered',
    status: 404,
    asks: { body: { type: 'resise', workerId: 'worker-1' } },
  },
  {
    operation: 'publish',
    name: 'running',
    title: 'A task that runs, and may not be published again',
    status: 409,
    asks: { body: { ...image(1), ifExists: 'reject' } },
  },
  {
    operation: 'heartbeat',
    name: 'renewed',
    title: 'The run continues, and reports its progress',
    status: 200,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'tasks')
      return { path, body: { fence, progress: { percent: 40 }, log: LOG } }
    },
  },
  {
    operation: 'log',
    name: 'lines',
    title: 'What the handler has logged, as its last heartbeat has stored it',
    status: 200,
    asks: answerOf => ({ path: { id: memberIn(answerOf, 'tasks').taskId } }),
  },
  {
    operation: 'heartbeatMany',
    name: 'renewed',
    title: 'One run continues, and another one is not known',
    status: 200,
    asks: answerOf => {
      const first = memberIn(answerOf, 'tasks')
      return { body: { runs: [first, { ...first, taskId: 'resize:img-9' }] } }
    },
  },
]

/** Runs end. */
export const reportSteps: readonly Step[] = [
  {
    operation: 'succeed',
    name: 'succeeded',
    title: 'The task has succeeded',
    status: 200,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'tasks')
      return { path, body: { fence, result: { bytes: 1_234 } } }
    },
  },
  {
    operation: 'succeed',
    name: 'ended',
    title: 'Another result for a run that has succeeded',
    status: 409,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'tasks')
      return { path, body: { fence, result: { bytes: 4_321 } } }
    },
  },
  {
    operation: 'fail',
    name: 'retried',
    title: 'The run has failed, and the task waits for a retry',
    status: 200,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'tasks', 1)
      return { path, body: { fence, error: TIMEOUT, retryInMs: 60_000 } }
    },
  },
  {
    operation: 'fail',
    name: 'ended',
    title: 'A failure of a run that has succeeded',
    status: 409,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'tasks')
      return { path, body: { fence, error: TIMEOUT } }
    },
  },
  {
    operation: 'why',
    name: 'retry',
    title: 'A task that waits for its retry',
    status: 200,
    asks: { path: { id: 'resize:img-2' } },
  },
  prepares('publish', 'img-4', 201, { body: image(4) }),
  prepares('claim', 'img-4', 200, claims('worker-2')),
  {
    operation: 'release',
    name: 'released',
    title: 'A worker that stops gives its task back',
    status: 200,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'img-4')
      return { path, body: { fence, delayMs: 60_000 } }
    },
  },
  {
    operation: 'release',
    name: 'ended',
    title: 'The run was released, with another delay',
    status: 409,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'img-4')
      return { path, body: { fence, delayMs: 0 } }
    },
  },
  prepares('publish', 'img-5', 201, { body: image(5) }),
  prepares('claim', 'img-5', 200, claims('worker-1')),
  prepares('publish', 'img-6', 201, { body: image(6) }),
  prepares('claim', 'img-6', 200, claims('worker-1')),
  {
    operation: 'finishMany',
    name: 'finished',
    title: 'One run has succeeded, and the report about another one is refused',
    status: 200,
    asks: answerOf => ({
      body: {
        runs: [
          { ...memberIn(answerOf, 'img-5'), outcome: 'succeed', result: { bytes: 987 } },
          { ...memberIn(answerOf, 'img-4'), outcome: 'fail', error: TIMEOUT },
        ],
      },
    }),
  },
  prepares('cancel', 'img-6', 200, { path: { id: 'resize:img-6' }, body: {} }),
  {
    operation: 'heartbeat',
    name: 'cancelled',
    title: 'An operator has cancelled the task, so the worker stops its work',
    status: 409,
    asks: answerOf => {
      const { path, fence } = runIn(answerOf, 'img-6')
      return { path, body: { fence } }
    },
  },
]
