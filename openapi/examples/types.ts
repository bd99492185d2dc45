import { prepares, type Step, shows } from './exchange.ts'

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
  shows('putType', 'created', 201, 'A new type, whose tasks are claimed over HTTP', { body: CONFIGURATION }),
  shows('putType', 'replaced', 200, 'Another configuration, if nobody else has changed it', {
    body: {
      ...CONFIGURATION,
      limits: { ...CONFIGURATION.limits, rate: RATE },
      ifRevision: 1,
    },
  }),
  shows('putType', 'stale', 409, 'Another operator has changed it since it was read', {
    body: { ...CONFIGURATION, ifRevision: 1 },
  }),
  shows('putType', 'invalid', 400, 'Fields that are not legal', {
    body: { kind: 'http', limits: { concurrency: { max: 0 } }, retries: 3 },
  }),
  shows('putType', 'with-schema', 201, 'A type whose inputs must fit a schema', {
    path: { type: 'thumbnail' },
    body: { kind: 'http', inputSchema: THUMBNAIL },
  }),
  prepares('putType', 'montage', 201, { path: { type: 'montage' }, body: { kind: 'http' } }),
  prepares('putType', 'report', 201, { path: { type: 'report' }, body: { kind: 'handler' } }),
  shows('getType', 'found', 200, 'A type'),
  shows('getType', 'unknown', 404, 'A type that is not registered', { path: { type: 'resise' } }),
  shows('listTypes', 'page', 200, 'The types by their names', { query: { limit: 10 } }),
  shows('pauseType', 'paused', 200, 'A type is paused', { path: { type: 'montage' }, body: {} }),
  shows('resumeType', 'resumed', 200, 'The pause ends', { path: { type: 'montage' }, body: {} }),
]

/** The load of types, while tasks of them run. */
export const loadSteps: readonly Step[] = [
  shows('counts', 'counted', 200, 'The tasks of a type', { query: { atMost: 1_000 } }),
  shows('listCounts', 'page', 200, 'The tasks of each type', { query: { atMost: 1_000, limit: 10 } }),
  shows('limitUsage', 'used', 200, 'Each limit for one value of its own key', {
    query: { rateValue: 'example.com', concurrencyValue: 'ada' },
  }),
]

/** Tasks of a type are purged, after everything else. */
export const purgeSteps: readonly Step[] = [
  shows('purge', 'begun', 202, 'Ended tasks are removed', { body: { status: ['failed', 'cancelled'] } }),
  shows('purge', 'invalid', 400, 'A status that does not exist', { body: { status: ['broken'] } }),
]
