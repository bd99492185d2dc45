import { prepares, type Step } from './exchange.ts'

/** A claim may use its slot up to 3 % of the period late. So with a minute, the conversation does not depend on the machine's speed. */
const RATE = { limit: 600, perMs: 60_000, key: 'site' }

const CONFIGURATION = {
  kind: 'http',
  defaults: { timeoutMs: 60_000, retry: { maxRetries: 5 } },
  limits: { concurrency: { max: 20, key: 'userId' } },
}

const THUMBNAIL = {
  type: 'object',
  properties: { url: { type: 'string', format: 'uri' }, width: { type: 'integer', minimum: 1 } },
  required: ['url'],
}

/** Types are registered, read and paused. */
export const typeSteps: readonly Step[] = [
  {
    operation: 'putType',
    name: 'created',
    title: 'A new type, whose tasks are claimed over HTTP',
    status: 201,
    asks: { body: CONFIGURATION },
  },
  {
    operation: 'putType',
    name: 'replaced',
    title: 'Another configuration, if nobody else has changed it',
    status: 200,
    asks: {
      body: {
        ...CONFIGURATION,
        limits: { ...CONFIGURATION.limits, rate: RATE },
        ifRevision: 1,
      },
    },
  },
  {
    operation: 'putType',
    name: 'stale',
    title: 'Another operator has changed it since it was read',
    status: 409,
    asks: { body: { ...CONFIGURATION, ifRevision: 1 } },
  },
  {
    operation: 'putType',
    name: 'invalid',
    title: 'Fields that are not legal',
    status: 400,
    asks: { body: { kind: 'http', limits: { concurrency: { max: 0 } }, retries: 3 } },
  },
  {
    operation: 'putType',
    name: 'with-schema',
    title: 'A type whose inputs must fit a schema',
    status: 201,
    asks: { path: { type: 'thumbnail' }, body: { kind: 'http', inputSchema: THUMBNAIL } },
  },
  prepares('putType', 'montage', 201, { path: { type: 'montage' }, body: { kind: 'http' } }),
  prepares('putType', 'report', 201, { path: { type: 'report' }, body: { kind: 'handler' } }),
  { operation: 'getType', name: 'found', title: 'A type', status: 200, asks: {} },
  {
    operation: 'getType',
    name: 'unknown',
    title: 'A type that is not registered',
    status: 404,
    asks: { path: { type: 'resise' } },
  },
  {
    operation: 'listTypes',
    name: 'page',
    title: 'The types by their names',
    status: 200,
    asks: { query: { limit: 10 } },
  },
  {
    operation: 'pauseType',
    name: 'paused',
    title: 'A type is paused',
    status: 200,
    asks: { path: { type: 'montage' }, body: {} },
  },
  {
    operation: 'resumeType',
    name: 'resumed',
    title: 'The pause ends',
    status: 200,
    asks: { path: { type: 'montage' }, body: {} },
  },
]

/** The load of types, while tasks of them run. */
export const loadSteps: readonly Step[] = [
  {
    operation: 'counts',
    name: 'counted',
    title: 'The tasks of a type',
    status: 200,
    asks: { query: { atMost: 1_000 } },
  },
  {
    operation: 'listCounts',
    name: 'page',
    title: 'The tasks of each type',
    status: 200,
    asks: { query: { atMost: 1_000, limit: 10 } },
  },
  {
    operation: 'limitUsage',
    name: 'used',
    title: 'Each limit for one value of its own key',
    status: 200,
    asks: { query: { rateValue: 'example.com', concurrencyValue: 'ada' } },
  },
]

/** Tasks of a type are purged, after everything else. */
export const purgeSteps: readonly Step[] = [
  {
    operation: 'purge',
    name: 'begun',
    title: 'Ended tasks are removed',
    status: 202,
    asks: { body: { status: ['failed', 'cancelled'] } },
  },
  {
    operation: 'purge',
    name: 'invalid',
    title: 'A status that does not exist',
    status: 400,
    asks: { body: { status: ['broken'] } },
  },
]
