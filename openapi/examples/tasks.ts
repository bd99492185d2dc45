import { prepares, type Step } from './exchange.ts'

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

const imageTask = (number: number, more: object = {}) => ({
  type: 'resize',
  key: `img-${number}`,
  input: { url: `https://example.com/${number}.jpg`, width: 200 },
  ...more,
})

/** Tasks are published, read and changed. */
export const publishSteps: readonly Step[] = [
  {
    operation: 'publish',
    name: 'created',
    title: 'A task that is due in a minute',
    status: 201,
    asks: { body: FIRST },
  },
  {
    operation: 'publish',
    name: 'exists',
    title: 'The same task again',
    status: 200,
    asks: { body: FIRST },
  },
  {
    operation: 'publish',
    name: 'invalid',
    title: 'Fields that are not legal',
    status: 400,
    asks: { body: { type: 'resize', delayMs: -1, retry: { backoff: 'linear' }, retries: 3 } },
  },
  {
    operation: 'publish',
    name: 'misfit',
    title: 'An input that does not fit the schema of its type',
    status: 400,
    asks: { body: { type: 'thumbnail', input: { width: 0 } } },
  },
  {
    operation: 'publish',
    name: 'unknown-type',
    title: 'A type that is not registered',
    status: 404,
    asks: { body: { type: 'resise', key: 'img-1' } },
  },
  {
    operation: 'publish',
    name: 'too-large',
    title: 'An input of more than 350 KB',
    status: 413,
    asks: { body: { type: 'resize', input: 'x'.repeat(400_000) } },
    hides: 'request',
  },
  {
    operation: 'publish',
    name: 'no-json',
    title: 'A body of another type than JSON',
    status: 415,
    asks: { body: { type: 'resize' } },
    contentType: 'text/plain',
    hides: 'request',
  },
  {
    operation: 'publishMany',
    name: 'published',
    title: 'Two tasks, one of which is refused',
    status: 200,
    asks: { body: { tasks: [imageTask(2), { type: 'resise', key: 'img-3' }] } },
  },
  { operation: 'get', name: 'found', title: 'A task that waits', status: 200, asks: {} },
  {
    operation: 'get',
    name: 'not-found',
    title: 'A task that does not exist',
    status: 404,
    asks: { path: { id: 'resize:img-9' } },
  },
  {
    operation: 'list',
    name: 'page',
    title: 'Open tasks of a type by their due time',
    status: 200,
    asks: { query: { type: ['resize'], status: ['delayed', 'ready'], order: 'due', limit: 10 } },
  },
  {
    operation: 'list',
    name: 'invalid',
    title: 'Neither a type nor a user nor a canvas',
    status: 400,
    asks: { query: { status: ['failed'] } },
  },
  {
    operation: 'search',
    name: 'found',
    title: 'The tasks with this key, of any type',
    status: 200,
    asks: { query: { q: 'img-2', limit: 10 } },
  },
  { operation: 'why', name: 'due', title: 'A task that is not due yet', status: 200, asks: {} },
  {
    operation: 'patch',
    name: 'changed',
    title: 'A higher priority, due now, without tags',
    status: 200,
    asks: { body: { priority: 5, delayMs: 0, tags: null, ifRevision: 0 } },
  },
  {
    operation: 'patch',
    name: 'stale',
    title: 'Another operator has changed it since it was read',
    status: 409,
    asks: { body: { priority: 7, ifRevision: 0 } },
  },
]

/** Tasks are stopped, started over and removed. */
export const endSteps: readonly Step[] = [
  prepares('publish', 'img-7', 201, { body: imageTask(7, { delayMs: 60_000 }) }),
  {
    operation: 'cancel',
    name: 'cancelled',
    title: 'A task that waits is cancelled',
    status: 200,
    asks: { path: { id: 'resize:img-7' }, body: {} },
  },
  {
    operation: 'cancel',
    name: 'ended',
    title: 'A task that has succeeded',
    status: 409,
    asks: { body: {} },
  },
  { operation: 'why', name: 'succeeded', title: 'A task that has succeeded', status: 200, asks: {} },
  {
    operation: 'patch',
    name: 'ended',
    title: 'A task that has succeeded',
    status: 409,
    asks: { body: { priority: 7 } },
  },
  {
    operation: 'retry',
    name: 'restarted',
    title: 'The cancelled task starts over',
    status: 200,
    asks: { path: { id: 'resize:img-7' }, body: { action: 'restart', clean: ['failed'] } },
  },
  {
    operation: 'retry',
    name: 'unfinished',
    title: 'A task that has not ended',
    status: 409,
    asks: { path: { id: 'resize:img-7' }, body: { action: 'restart' } },
  },
  {
    operation: 'remove',
    name: 'stale',
    title: 'Another operator has changed it since it was read',
    status: 409,
    asks: { query: { ifRevision: 0 } },
  },
  { operation: 'remove', name: 'removed', title: 'A task is removed', status: 204, asks: {} },
  { operation: 'remove', name: 'not-found', title: 'It is removed already', status: 404, asks: {} },
]
