import { prepares, type Step, shows } from './exchange.ts'

const FIRST = {
  type: 'resize',
  key: 'img-1',
  input: { url: 'https://example.com/1.jpg', width: 200, site: 'example.com' },
  userId: 'ada',
  delayMs: 60_000,
  tags: { team: 'red' },
  liveLog: true,
  retry: { maxRetries: 5, delayMs: 2_000 },
}

export const imageTask = (number: number, more: object = {}) => ({
  type: 'resize',
  key: `img-${number}`,
  input: { url: `https://example.com/${number}.jpg`, width: 200 },
  ...more,
})

/** Tasks are published, read and changed. */
export const publishSteps: readonly Step[] = [
  shows('publish', 'created', 201, 'A task that is due in a minute', { body: FIRST }),
  shows('publish', 'exists', 200, 'The same task again', { body: FIRST }),
  shows('publish', 'invalid', 400, 'Fields that are not legal', {
    body: { type: 'resize', delayMs: -1, retry: { backoff: 'linear' }, retries: 3 },
  }),
  shows('publish', 'misfit', 400, 'An input that does not fit the schema of its type', {
    body: { type: 'thumbnail', input: { width: 0 } },
  }),
  shows('publish', 'unknown-type', 404, 'A type that is not registered', {
    body: { type: 'resise', key: 'img-1' },
  }),
  shows('publish', 'too-large', 413, 'An input of more than 350 KB', {
    body: { type: 'resize', input: 'x'.repeat(400_000) },
    hides: 'request',
  }),
  shows('publish', 'no-json', 415, 'A body of another type than JSON', {
    body: { type: 'resize' },
    contentType: 'text/plain',
    hides: 'request',
  }),
  shows('publishMany', 'published', 200, 'Two tasks, one of which is refused', {
    body: { tasks: [imageTask(2), { type: 'resise', key: 'img-3' }] },
  }),
  shows('get', 'found', 200, 'A task that waits'),
  shows('get', 'not-found', 404, 'A task that does not exist', { path: { id: 'resize:img-9' } }),
  shows('list', 'page', 200, 'Open tasks of a type by their due time', {
    query: { type: ['resize'], status: ['delayed', 'ready'], order: 'due', limit: 10 },
  }),
  shows('list', 'invalid', 400, 'A span without a moment', {
    query: { since: '2026-11-23T10:00:00Z', until: '2026-11-23T09:00:00Z' },
  }),
  shows('search', 'found', 200, 'The tasks with this key, of any type', { query: { q: 'img-2', limit: 10 } }),
  shows('why', 'due', 200, 'A task that is not due yet'),
  shows('patch', 'changed', 200, 'A higher priority, due now, without tags', {
    body: { priority: 5, delayMs: 0, tags: null, ifRevision: 0 },
  }),
  shows('patch', 'stale', 409, 'Another operator has changed it since it was read', {
    body: { priority: 7, ifRevision: 0 },
  }),
]

/** Tasks are stopped, started over and removed. */
export const endSteps: readonly Step[] = [
  prepares('publish', 'img-7', 201, { body: imageTask(7, { delayMs: 60_000 }) }),
  shows('cancel', 'cancelled', 200, 'A task that waits is cancelled', {
    path: { id: 'resize:img-7' },
    body: {},
  }),
  shows('cancel', 'ended', 409, 'A task that has succeeded', { body: {} }),
  shows('why', 'succeeded', 200, 'A task that has succeeded'),
  shows('patch', 'ended', 409, 'A task that has succeeded', { body: { priority: 7 } }),
  shows('retry', 'restarted', 200, 'The cancelled task starts over', {
    path: { id: 'resize:img-7' },
    body: { action: 'restart', clean: ['failed'] },
  }),
  shows('retry', 'unfinished', 409, 'A task that has not ended', {
    path: { id: 'resize:img-7' },
    body: { action: 'restart' },
  }),
  shows('remove', 'stale', 409, 'Another operator has changed it since it was read', {
    query: { ifRevision: 0 },
  }),
  shows('remove', 'removed', 204, 'A task is removed'),
  shows('remove', 'not-found', 404, 'It is removed already'),
]
