import { type Bound, field, lists, numbers, text, texts, words } from './bound-request.ts'

const DAY_MS = 86_400_000
const TEN_YEARS_MS = 3_653 * DAY_MS
const SCHEDULE = { task: { type: 'a' }, everyMs: 60_000 }
const LEAF = { type: 'a' }
const LEVELS_MAX = 90
const STATUSES = ['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled']
const ORDERS = ['due', '-due', 'created', '-created', 'ended', '-ended']

/** Schedules, canvases, queries, and the answers that show tasks. */
export const OF_OTHERS: readonly Bound[] = [
  numbers('schedule', { ...SCHEDULE, task: { type: 'a' } }, 'everyMs', 1_000, TEN_YEARS_MS),
  numbers('schedule', SCHEDULE, 'graceMs', 180_000, DAY_MS),
  numbers('schedule', SCHEDULE, 'missed.catchUp', 1, 1_000),
  () => [
    { kind: 'schedule', body: { task: { type: 'a' }, cron: '0 5 * * *', timezone: 'Europe/Berlin' } },
    {
      kind: 'schedule',
      body: { task: { type: 'a' }, cron: '0 5 * * *', everyMs: 1_000 },
      refused: 'everyMs',
    },
    { kind: 'schedule', body: { ...SCHEDULE, timezone: 'Europe/Berlin' }, refused: 'timezone' },
    { kind: 'schedule', body: { task: { type: 'a' } }, refused: 'cron' },
    { kind: 'schedule', body: { task: { type: 'a' }, cron: '61 5 * * *' }, refused: 'cron' },
  ],
  numbers('activity', {}, 'minutes', 1, 120),
  numbers('list', {}, 'limit', 1, 100),
  lists('list', {}, 'type', 10, nth => `t${nth}`),
  () => [
    { kind: 'task-id', body: { id: `a:${text(240)}` } },
    { kind: 'task-id', body: { id: `${text(100)}:a:b` } },
    { kind: 'task-id', body: { id: `a:${text(241)}` }, refused: 'id' },
    { kind: 'task-id', body: { id: ':a' }, refused: 'id' },
    { kind: 'task-id', body: { id: 'a:' }, refused: 'id' },
    { kind: 'task-id', body: { id: 'canvas:a' }, refused: 'id' },
  ],
  () => [
    ...[0, 1_000_000_000, -1_000_000_000].map(value => ({ kind: 'priority' as const, body: { value } })),
    ...[1_000_000_001, 1.5, 'x'].map(value => ({
      kind: 'priority' as const,
      body: { value },
      refused: 'value',
    })),
  ],
  dice => {
    const existing = Array.from({ length: dice.between(1, 9) }, (_, nth) => `type${nth}`)
    const more = existing.length - 5
    return [
      {
        kind: 'unknown-type',
        body: { type: 'zzqqzzqq', existing },
        refused: 'type',
        ...(more > 0 ? { says: `and ${more} more` } : { neverSays: 'more' }),
      },
    ]
  },
  texts('list', {}, 'userId', 200),
  texts('list', {}, 'error', 200),
  texts('list', {}, 'canvasId', 220),
  words('list', {}, 'order', ORDERS),
  field('list', {}, 'status', [[], STATUSES], ['failed', {}]),
  () => [{ kind: 'list', body: { status: ['open'] }, refused: 'status.0', isInSchema: true }],
  field('list', {}, 'tag', [['a:b'], ['a:'], ['a:b:c'], [`a:${text(383)}`]], [':a', 7]),
  lists('list', {}, 'tag', 10, nth => `t${nth}:a`),
  () => [
    { kind: 'list', body: { tag: ['a:b', ':a'] }, refused: 'tag.1' },
    { kind: 'list', body: { tag: [`a:${text(384)}`] }, refused: 'tag.0', isInSchema: true },
  ],
  field('list', {}, 'since', ['2026-01-31T12:00Z'], ['2026-13-01T00:00:00Z', 'now', 5]),
  () => [
    { kind: 'schedule', body: { ...SCHEDULE, missed: 'skip' } },
    { kind: 'schedule', body: { ...SCHEDULE, missed: 'all' }, refused: 'missed', says: 'catchUp' },
    { kind: 'schedule', body: { ...SCHEDULE, missed: { catchUp: 1, more: 2 } }, refused: 'missed.more' },
    { kind: 'schedule', body: { everyMs: 60_000 }, refused: 'task', says: 'is required' },
    { kind: 'schedule', body: { ...SCHEDULE, task: { type: 'a', key: 'b' } }, refused: 'task.key' },
  ],
  field('canvas', {}, 'chain', [[LEAF], Array(200).fill(LEAF)], [[], 7, LEAF]),
  () => [
    { kind: 'canvas', body: { group: [LEAF, { chain: [LEAF] }] } },
    { kind: 'canvas', body: { chord: { group: [LEAF], then: LEAF, onError: LEAF }, sendConcurrency: 100 } },
    { kind: 'canvas', body: { chord: { group: [LEAF] } }, refused: 'chord.then' },
    { kind: 'canvas', body: { chord: { group: [], then: LEAF } }, refused: 'chord.group' },
    { kind: 'canvas', body: { group: [{ type: 'a', key: 'b' }] }, refused: 'group.0.key' },
    { kind: 'canvas', body: { group: [{ ...LEAF, delayMs: -1 }] }, refused: 'group.0.delayMs' },
    { kind: 'canvas', body: { group: [7] }, refused: 'group.0' },
    { kind: 'canvas', body: { chain: [LEAF, { chain: [LEAF], group: [LEAF] }] }, refused: 'chain.1.group' },
    { kind: 'canvas', body: { chain: [LEAF], sendConcurrency: 101 }, refused: 'sendConcurrency' },
    { kind: 'canvas', body: { chain: [LEAF], key: '~a' }, refused: 'key' },
    { kind: 'canvas', body: {}, refused: '' },
  ],
  () => [
    { kind: 'canvas', body: nestedCanvas(LEVELS_MAX) },
    {
      kind: 'canvas',
      body: nestedCanvas(LEVELS_MAX + 1),
      refused: Array(LEVELS_MAX).fill('chain.0').join('.'),
    },
  ],
  () => [
    ...['params', 'tags', 'attempts', 'options'].map(path => ({
      kind: 'task-answer' as const,
      body: { [path]: 7 },
      refused: path,
      says: 'an object, not 7',
      isInSchema: true as const,
    })),
    ...['runs', 'history'].map(path => ({
      kind: 'task-answer' as const,
      body: { [path]: {} },
      refused: path,
      says: 'a list',
      isInSchema: true as const,
    })),
    { kind: 'task-answer', body: { tags: { a: 7 } }, refused: 'tags.a', isInSchema: true },
    { kind: 'task-answer', body: { status: 'open' }, refused: 'status', isInSchema: true },
    { kind: 'task-answer', body: { runs: [{ id: 7 }] }, refused: 'runs.0.id', isInSchema: true },
    { kind: 'task-answer', body: {}, refused: 'id', says: 'is required', isInSchema: true },
  ],
]

/** A task within so many levels of canvases, counted with its own. */
function nestedCanvas(levels: number): object {
  let canvas: object = LEAF
  for (let level = 1; level < levels; level++) canvas = { chain: [canvas] }
  return canvas
}
