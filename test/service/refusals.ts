import { prepares, type Step } from '../../openapi/examples/exchange.ts'

/** Refusals that the conversation of the OpenAPI document does not show, asked at its end. */

const STRANGE = { nonsense: 1 }
const STALE = { ifRevision: 999_999 }
const NO_TASK = { id: 'resize:none' }
const NO_TYPE = { type: 'none' }
const NO_SCHEDULE = { name: 'none' }
const NO_RUN = { id: 'resize:none', runId: '01ARZ3NDEKTSV4RRFFQ69G5FAV.1' }
/** Some seconds after the time that an answer shows. */
function soonAfter(time: string): string {
  return new Date(Date.parse(time) + 10_000).toISOString()
}

const refuses = (operation: string, name: string, status: number, asks: object): Step =>
  prepares(operation, `refused-${name}`, status, asks)

const READS = [
  ...[
    'get',
    'log',
    'previous',
    'why',
    'listTypes',
    'getType',
    'counts',
    'limitUsage',
    'listActivity',
    'listCounts',
  ],
  ...[
    'listCanvases',
    'getCanvas',
    'getBulk',
    'listBulks',
    'search',
    'listSchedules',
    'getSchedule',
    'listTicks',
    'listFailures',
    'listDeadLetters',
    'listWorkers',
    'events',
  ],
  ...['health', 'openapi', 'remove', 'removeSchedule'],
]
const WRITES = [
  ...['patch', 'cancel', 'retry', 'claim', 'heartbeat', 'succeed', 'fail', 'release', 'heartbeatMany'],
  ...['finishMany', 'publishMany', 'pauseType', 'resumeType', 'cancelCanvas', 'pauseSchedule'],
  ...['resumeSchedule', 'triggerSchedule'],
]

export const REFUSALS: readonly Step[] = [
  ...READS.map(operation => refuses(operation, 'strange-query', 400, { query: STRANGE })),
  ...WRITES.map(operation =>
    refuses(operation, 'strange-body', 400, { path: { runId: NO_RUN.runId }, body: STRANGE }),
  ),
  refuses('list', 'no-canvas', 404, { query: { canvasId: 'canvas:none' } }),
  refuses('list', 'no-type', 404, { query: { type: ['none'] } }),
  refuses('listActivity', 'no-type', 404, { query: { type: ['none'] } }),
  ...['patch', 'cancel', 'retry', 'log', 'previous', 'why'].map(operation =>
    refuses(operation, 'no-task', 404, {
      path: NO_TASK,
      ...(['log', 'previous', 'why'].includes(operation) ? {} : { body: {} }),
    }),
  ),
  ...['pauseType', 'resumeType', 'counts', 'limitUsage'].map(operation =>
    refuses(operation, 'no-type', 404, {
      path: NO_TYPE,
      ...(operation.endsWith('Type') ? { body: {} } : {}),
    }),
  ),
  refuses('startBulk', 'no-type', 404, { body: { action: 'replay', type: 'none' } }),
  refuses('startBulk', 'no-canvas', 404, {
    body: { action: 'retry', type: 'resize', status: 'failed', canvasId: 'canvas:none' },
  }),
  refuses('getBulk', 'no-bulk', 404, {}),
  refuses('listTicks', 'no-schedule', 404, { path: NO_SCHEDULE }),
  refuses('purge', 'no-type', 404, { path: NO_TYPE, body: { status: ['failed'] } }),
  refuses('heartbeat', 'no-run', 404, { path: NO_RUN, body: { fence: 1 } }),
  refuses('succeed', 'no-run', 404, { path: NO_RUN, body: { fence: 1 } }),
  refuses('fail', 'no-run', 404, { path: NO_RUN, body: { fence: 1, error: { name: 'E', message: '' } } }),
  refuses('release', 'no-run', 404, { path: NO_RUN, body: { fence: 1 } }),
  refuses('cancelCanvas', 'no-canvas', 404, { path: { id: 'canvas:none' }, body: {} }),
  ...['pauseSchedule', 'resumeSchedule'].map(operation =>
    refuses(operation, 'no-schedule', 404, { path: NO_SCHEDULE, body: {} }),
  ),
  prepares('publish', 'for-stale', 201, { body: { type: 'resize', key: 'stale', delayMs: 3_600_000 } }),
  ...['cancel', 'retry'].map(operation =>
    refuses(operation, 'stale', 409, { path: { id: 'resize:stale' }, body: STALE }),
  ),
  ...['pauseType', 'resumeType'].map(operation => refuses(operation, 'stale', 409, { body: STALE })),
  refuses('putType', 'fewer-shards', 409, { body: { kind: 'http', shards: 1 } }),
  prepares('putSchedule', 'for-stale', 201, {
    path: { name: 'stale' },
    body: { everyMs: 3_600_000, task: { type: 'resize' } },
  }),
  ...['pauseSchedule', 'resumeSchedule'].map(operation =>
    refuses(operation, 'stale', 409, { path: { name: 'stale' }, body: STALE }),
  ),
  refuses('removeSchedule', 'stale', 409, { path: { name: 'stale' }, query: STALE }),
  prepares('putSchedule', 'for-ended', 201, told => ({
    path: { name: 'once' },
    body: { at: soonAfter(told('publish', 'for-stale').task.createdAt), task: { type: 'resize' } },
  })),
  { path: '/v1/schedules/once', until: body => body.finishedAt !== undefined },
  ...['pauseSchedule', 'resumeSchedule'].map(operation =>
    refuses(operation, 'ended', 409, { path: { name: 'once' }, body: {} }),
  ),
  prepares('triggerSchedule', 'ended', 202, { path: { name: 'once' }, body: {} }),
  refuses('getSchedule', 'removed', 404, {}),
]
