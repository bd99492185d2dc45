import { memberIn, prepares, type Step, shows } from './exchange.ts'
import { imageTask } from './tasks.ts'

const claims = (workerId: string, more: object = {}) => ({ body: { type: 'resize', workerId, ...more } })

const TIMEOUT = { name: 'TimeoutError', message: 'no answer within 5 s' }

const LOG = '2026-11-23T09:00:14.000Z INFO fetching {"width":200}'

/** Workers claim tasks and report about their runs. */
export const workSteps: readonly Step[] = [
  { path: '/v1/tasks/resize:img-1', until: ({ status }) => status === 'ready' },
  shows(
    'claim',
    'tasks',
    200,
    'A worker takes up to two tasks, and would wait a second for one',
    claims('worker-1', { limit: 2, waitMs: 1_000 }),
  ),
  shows('claim', 'nothing', 200, 'Nothing waits', {
    body: { types: ['resize', 'montage'], workerId: 'worker-2', workerVersion: '1.4.0' },
  }),
  shows('claim', 'too-many-waiting', 429, 'Nothing waits, and as many claims wait as may', {
    body: { type: 'montage', workerId: 'worker-2', workerVersion: '1.4.0', waitMs: 20_000 },
    isCrowded: true,
  }),
  shows('claim', 'handler', 409, 'A type that handlers serve', {
    body: { type: 'report', workerId: 'worker-1' },
  }),
  shows('claim', 'unknown-type', 404, 'A type that is not registered', {
    body: { type: 'resise', workerId: 'worker-1' },
  }),
  shows('publish', 'running', 409, 'A task that runs, and may not be published again', {
    body: { ...imageTask(1), ifExists: 'reject' },
  }),
  shows('heartbeat', 'renewed', 200, 'The run continues, and reports its progress', {
    run: ['tasks'],
    body: { progress: { percent: 40 }, log: LOG },
  }),
  shows('log', 'lines', 200, 'What the handler has logged, as its last heartbeat has stored it'),
  shows('heartbeatMany', 'renewed', 200, 'One run continues, and another one is not known', answerOf => {
    const first = memberIn(answerOf, 'tasks')
    return { body: { runs: [first, { ...first, taskId: 'resize:img-9' }] } }
  }),
]

/** Runs end. */
export const reportSteps: readonly Step[] = [
  shows('succeed', 'succeeded', 200, 'The task has succeeded', {
    run: ['tasks'],
    body: { result: { bytes: 1_234 } },
  }),
  shows('succeed', 'ended', 409, 'Another result for a run that has succeeded', {
    run: ['tasks'],
    body: { result: { bytes: 4_321 } },
  }),
  shows('fail', 'retried', 200, 'The run has failed, and the task waits for a retry', {
    run: ['tasks', 1],
    body: { error: TIMEOUT, retryInMs: 60_000 },
  }),
  shows('fail', 'ended', 409, 'A failure of a run that has succeeded', {
    run: ['tasks'],
    body: { error: TIMEOUT },
  }),
  shows('why', 'retry', 200, 'A task that waits for its retry', { path: { id: 'resize:img-2' } }),
  prepares('publish', 'img-4', 201, { body: imageTask(4) }),
  prepares('claim', 'img-4', 200, claims('worker-2')),
  shows('release', 'released', 200, 'A worker that stops gives its task back', {
    run: ['img-4'],
    body: { delayMs: 60_000 },
  }),
  shows('release', 'ended', 409, 'The run was released, with another delay', {
    run: ['img-4'],
    body: { delayMs: 0 },
  }),
  prepares('publish', 'img-5', 201, { body: imageTask(5) }),
  prepares('claim', 'img-5', 200, claims('worker-1')),
  prepares('publish', 'img-6', 201, { body: imageTask(6) }),
  prepares('claim', 'img-6', 200, claims('worker-1')),
  shows(
    'finishMany',
    'finished',
    200,
    'One run has succeeded, and the report about another one is refused',
    answerOf => ({
      body: {
        runs: [
          { ...memberIn(answerOf, 'img-5'), outcome: 'succeed', result: { bytes: 987 } },
          { ...memberIn(answerOf, 'img-4'), outcome: 'fail', error: TIMEOUT },
        ],
      },
    }),
  ),
  prepares('cancel', 'img-6', 200, { path: { id: 'resize:img-6' }, body: {} }),
  shows('heartbeat', 'cancelled', 409, 'An operator has cancelled the task, so the worker stops its work', {
    run: ['img-6'],
  }),
]
