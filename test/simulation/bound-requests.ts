import type { Dice } from './generate/dice.ts'

/** What a caller sends to the API: a body or a query, or a part of one. */
export type RequestKind =
  | 'publish'
  | 'patch'
  | 'type'
  | 'claim'
  | 'schedule'
  | 'activity'
  | 'list'
  | 'task-id'
  | 'unknown-type'
  | 'priority'

/** A request at a bound of the API. The bounds are those of the documents, and this file knows nothing of the code. */
export type BoundRequest = {
  readonly kind: RequestKind
  readonly body: unknown
  /** The field that must be refused. @default the request is legal */
  readonly refused?: string
  /** A part of the message about that field. */
  readonly says?: string
  readonly neverSays?: string
}

type Bound = (dice: Dice) => BoundRequest[]

const DAY_MS = 86_400_000
const TEN_YEARS_MS = 3_653 * DAY_MS
const BODY_BYTES_MAX = 350 * 1_024

/** Draws so many bounds, each with the requests at it and beyond it. */
export function boundRequests(dice: Dice, count: number): BoundRequest[] {
  return Array.from({ length: count }, () => dice.pick(BOUNDS)(dice)).flat()
}

function text(length: number): string {
  return 'a'.repeat(length)
}

/** The body with a value at a dotted path. */
function withAt(base: object, path: string, value: unknown): Record<string, unknown> {
  const [first = '', ...rest] = path.split('.')
  const members = base as Record<string, unknown>
  const inner = rest.length > 0 ? withAt((members[first] ?? {}) as object, rest.join('.'), value) : value
  return { ...members, [first]: inner }
}

/** Legal and illegal values of one field. */
function field(
  kind: RequestKind,
  base: object,
  path: string,
  legal: readonly unknown[],
  illegal: readonly unknown[],
): Bound {
  return () => [
    ...legal.map(value => ({ kind, body: withAt(base, path, value) })),
    ...illegal.map(value => ({ kind, body: withAt(base, path, value), refused: path })),
  ]
}

function texts(kind: RequestKind, base: object, path: string, most: number): Bound {
  return field(kind, base, path, ['a', text(most)], ['', text(most + 1), 'a\u0000', 7])
}

function numbers(kind: RequestKind, base: object, path: string, least: number, most: number): Bound {
  return field(kind, base, path, [least, most], [least - 1, most + 1, 'x'])
}

function lists(
  kind: RequestKind,
  base: object,
  path: string,
  most: number,
  member: (nth: number) => unknown,
  least = 0,
): Bound {
  const list = (length: number) => Array.from({ length }, (_, nth) => member(nth))
  return field(
    kind,
    base,
    path,
    [list(least), list(most)],
    [list(most + 1), ...(least > 0 ? [list(least - 1)] : []), 'x'],
  )
}

const PUBLISH = { type: 'a' }
const HTTP = { kind: 'http' }
const FLOW = { kind: 'flow' }
const CLAIM = { type: 'a', workerId: 'w' }
const SCHEDULE = { task: { type: 'a' }, everyMs: 60_000 }
const LADDER = { type: 'a', retry: { backoff: 'ladder' } }
const EVERY_KIND_OF_VALUE = [
  [[], 'an empty list'],
  [[1], 'a list'],
  [{}, 'an object'],
  [null, 'null'],
  ['x', "'x'"],
] as const

const OF_PUBLISHES: readonly Bound[] = [
  texts('publish', PUBLISH, 'key', 200),
  texts('publish', PUBLISH, 'userId', 200),
  texts('publish', PUBLISH, 'fairnessKey', 200),
  texts('publish', PUBLISH, 'stage', 100),
  field('publish', {}, 'type', ['a', text(100), 'A-z_0.9'], [text(101), '', 'a b', undefined]),
  numbers('publish', PUBLISH, 'delayMs', 0, TEN_YEARS_MS),
  field('publish', PUBLISH, 'delayMs', [1], [1.5]),
  field(
    'publish',
    PUBLISH,
    'dueAt',
    ['2028-02-29T00:00:00Z', '2026-01-31T12:00:00.123+01:00', '1970-01-01T00:00:00Z'],
    ['2026-02-30T00:00:00Z', '1969-12-31T23:59:59Z', 'tomorrow', '2026-01-31', '2026-01-31T24:00:00Z'],
  ),
  () => [
    { kind: 'publish', body: { ...PUBLISH, dueAt: '2026-02-01T00:00:00Z', delayMs: 1 }, refused: 'delayMs' },
  ],
  numbers('publish', PUBLISH, 'priority', -1_000_000_000, 1_000_000_000),
  numbers('publish', PUBLISH, 'concurrency', 1, 100),
  numbers('publish', PUBLISH, 'leaseMs', 100, DAY_MS),
  numbers('publish', PUBLISH, 'heartbeatMs', 50, DAY_MS),
  numbers('publish', PUBLISH, 'timeoutMs', 1, TEN_YEARS_MS),
  numbers('publish', PUBLISH, 'deadlineMs', 1, TEN_YEARS_MS),
  numbers('publish', PUBLISH, 'retentionMs', 0, TEN_YEARS_MS),
  numbers('publish', PUBLISH, 'retry.maxRetries', 0, 1_000),
  numbers('publish', PUBLISH, 'retry.localRetries', 0, 100),
  field('publish', PUBLISH, 'retry.jitter', [0, 0.5, 1], [-0.1, 1.1, 'x']),
  lists('publish', LADDER, 'retry.delaysMs', 100, nth => nth, 1),
  lists('publish', PUBLISH, 'workerIds', 100, nth => `w${nth}`),
  field('publish', PUBLISH, 'workerIds', [['a', 'b']], [['a', 'b', 'a']]),
  field('publish', PUBLISH, 'minWorkerVersion', ['1', '1.4.0.2'], ['1.x', '1.2.3.4.5', '']),
  lists('publish', PUBLISH, 'onSuccess', 100, () => ({ type: 'b' })),
  lists('publish', PUBLISH, 'onError', 100, () => ({ type: 'b' })),
  () => [
    { kind: 'publish', body: { ...PUBLISH, tags: tags(50) } },
    { kind: 'publish', body: { ...PUBLISH, tags: tags(51) }, refused: 'tags' },
    { kind: 'publish', body: { ...PUBLISH, tags: { [text(128)]: text(256) } } },
    { kind: 'publish', body: { ...PUBLISH, tags: { a: text(257) } }, refused: 'tags.a' },
    { kind: 'publish', body: { ...PUBLISH, tags: { [text(129)]: 'a' } }, refused: `tags.${text(129)}` },
  ],
  field('publish', PUBLISH, 'ifExists', ['keep', 'update', 'reject', 'restart'], ['drop']),
  () => [
    { kind: 'publish', body: { ...PUBLISH, key: 'k', debounce: { ms: 5, maxWaitMs: 5 } } },
    {
      kind: 'publish',
      body: { ...PUBLISH, key: 'k', debounce: { ms: 5, maxWaitMs: 4 } },
      refused: 'debounce.maxWaitMs',
    },
    { kind: 'publish', body: { ...PUBLISH, debounce: { ms: 5 } }, refused: 'key' },
    { kind: 'publish', body: { ...PUBLISH, key: 'k', throttle: { perMs: 0 } }, refused: 'throttle.perMs' },
    { kind: 'publish', body: { ...PUBLISH, clean: ['failed'] }, refused: 'clean' },
  ],
  () => [
    { kind: 'publish', body: { ...PUBLISH, input: nested(199) } },
    { kind: 'publish', body: { ...PUBLISH, input: nested(200) }, refused: `input${'.0'.repeat(200)}` },
    { kind: 'publish', body: { ...PUBLISH, input: { a: [1, Number.NaN] } }, refused: 'input.a.1' },
    { kind: 'publish', body: { ...PUBLISH, input: { a: [new Map()] } }, refused: 'input.a.0' },
    { kind: 'publish', body: { ...PUBLISH, input: [{ at: new Date(0) }] }, refused: 'input.0.at' },
  ],
  () => [
    { kind: 'publish', body: { ...PUBLISH, input: text(BODY_BYTES_MAX - 2) } },
    { kind: 'publish', body: { ...PUBLISH, input: text(BODY_BYTES_MAX - 1) }, refused: 'input' },
    { kind: 'publish', body: { ...PUBLISH, input: '"'.repeat(BODY_BYTES_MAX / 2 - 1) } },
    { kind: 'publish', body: { ...PUBLISH, input: '\\'.repeat(BODY_BYTES_MAX / 2) }, refused: 'input' },
  ],
  dice => {
    const [value, says] = dice.pick(EVERY_KIND_OF_VALUE)
    return [{ kind: 'publish', body: { ...PUBLISH, priority: value }, refused: 'priority', says }]
  },
  misspelt,
  misspelt,
  misspelt,
  () => [
    { kind: 'publish', body: { ...PUBLISH, zzqqzzqq: 1 }, refused: 'zzqqzzqq', neverSays: 'did you mean' },
    {
      kind: 'publish',
      body: { ...PUBLISH, [`key${text(150)}`]: 1 },
      refused: `key${text(150)}`,
      neverSays: 'did you mean',
    },
    {
      kind: 'publish',
      body: { ...PUBLISH, ifExists: 'kep' },
      refused: 'ifExists',
      says: "did you mean 'keep'",
    },
  ],
]

const OF_OTHERS: readonly Bound[] = [
  field('patch', {}, 'leaseMs', [null, 100], [99, 'x', []]),
  field('patch', {}, 'retry', [null, { delayMs: null }, { maxRetries: 0 }], [5]),
  field('patch', {}, 'tags', [null, {}], [7, []]),
  numbers('type', { ...HTTP, limits: { concurrency: {} } }, 'limits.concurrency.max', 1, 1_000),
  numbers('type', { ...HTTP, limits: { rate: { perMs: 1_000 } } }, 'limits.rate.limit', 1, 100_000),
  numbers('type', { ...HTTP, limits: { rate: { limit: 1 } } }, 'limits.rate.perMs', 1_000, 31 * DAY_MS),
  texts('type', { ...HTTP, limits: { concurrency: { max: 1 } } }, 'limits.concurrency.key', 100),
  numbers('type', HTTP, 'shards', 1, 64),
  field('type', {}, 'kind', ['handler', 'http', 'webhook'], ['lambda', undefined]),
  field('type', HTTP, 'ordering', ['arrival', 'priority', 'aged'], ['oldest']),
  lists('type', FLOW, 'steps', 100, step, 1),
  () => [
    { kind: 'type', body: { ...FLOW, steps: [step(1), step(1)] }, refused: 'steps.1.name' },
    {
      kind: 'type',
      body: { ...FLOW, steps: [step(1), { ...step(2), name: 'undo s1' }] },
      refused: 'steps.1.name',
    },
    { kind: 'type', body: { ...FLOW, steps: [{ ...step(1), name: text(100) }] } },
    { kind: 'type', body: { ...FLOW, steps: [{ ...step(1), name: text(101) }] }, refused: 'steps.0.name' },
    { kind: 'type', body: { ...FLOW, steps: [{ ...step(1), name: '__proto__' }] }, refused: 'steps.0.name' },
    { kind: 'type', body: { ...FLOW, steps: [{ ...step(1), name: 'a\u0007' }] }, refused: 'steps.0.name' },
    { kind: 'type', body: { ...HTTP, steps: [step(1)] }, refused: 'steps' },
  ],
  () => [
    { kind: 'type', body: { ...FLOW, steps: stepsOfBytes(100 * 1_024) } },
    { kind: 'type', body: { ...FLOW, steps: stepsOfBytes(100 * 1_024 + 1) }, refused: 'steps' },
  ],
  () => [
    {
      kind: 'type',
      body: { kind: 'webhook', webhook: { url: 'https://example.org/hook', timeoutMs: 240_000 } },
    },
    { kind: 'type', body: { ...HTTP, webhook: {} }, refused: 'webhook' },
    {
      kind: 'type',
      body: { kind: 'webhook', webhook: { timeoutMs: 240_001 } },
      refused: 'webhook.timeoutMs',
    },
    {
      kind: 'type',
      body: { kind: 'webhook', webhook: { url: 'https://me:secret@example.org' } },
      refused: 'webhook.url',
    },
    {
      kind: 'type',
      body: { kind: 'webhook', webhook: { url: 'ftp://example.org' } },
      refused: 'webhook.url',
    },
  ],
  () => [
    { kind: 'type', body: { ...HTTP, defaults: { heartbeatMs: 999, leaseMs: 1_000 } } },
    {
      kind: 'type',
      body: { ...HTTP, defaults: { heartbeatMs: 1_000, leaseMs: 1_000 } },
      refused: 'defaults.heartbeatMs',
    },
    { kind: 'type', body: { ...HTTP, defaults: { heartbeatMs: 60_000 } } },
    { kind: 'type', body: { ...HTTP, defaults: { leaseMs: 500 } } },
    { kind: 'type', body: { ...HTTP, defaults: { concurrency: 2, workerIds: ['a', 'b'] } } },
    {
      kind: 'type',
      body: { ...HTTP, defaults: { concurrency: 3, workerIds: ['a', 'b'] } },
      refused: 'defaults.concurrency',
    },
    { kind: 'type', body: { ...HTTP, defaults: { retry: { delayMs: 5, maxDelayMs: 5 } } } },
    {
      kind: 'type',
      body: { ...HTTP, defaults: { retry: { delayMs: 5, maxDelayMs: 4 } } },
      refused: 'defaults.retry.maxDelayMs',
    },
    {
      kind: 'type',
      body: { ...HTTP, defaults: { retry: { delaysMs: [1] } } },
      refused: 'defaults.retry.delaysMs',
    },
    {
      kind: 'type',
      body: { ...HTTP, defaults: { retry: { backoff: 'ladder' } } },
      refused: 'defaults.retry.delaysMs',
    },
  ],
  () => [
    { kind: 'type', body: { ...HTTP, inputSchema: { a: text(32 * 1_024 - 8) } } },
    { kind: 'type', body: { ...HTTP, inputSchema: { a: text(32 * 1_024 - 7) } }, refused: 'inputSchema' },
    { kind: 'type', body: { ...HTTP, inputSchema: [] }, refused: 'inputSchema' },
  ],
  numbers('claim', CLAIM, 'waitMs', 0, 20_000),
  numbers('claim', CLAIM, 'limit', 1, 100),
  texts('claim', CLAIM, 'workerId', 200),
  lists('claim', { workerId: 'w' }, 'types', 20, nth => `t${nth}`, 1),
  field('claim', CLAIM, 'workerId', ['é'.repeat(128)], ['é'.repeat(129)]),
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
]

const BOUNDS = [...OF_PUBLISHES, ...OF_OTHERS]

function tags(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, nth) => [`t${nth}`, 'a']))
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

function step(nth: number) {
  return { name: `s${nth}`, do: { type: 'a' } }
}

/** Steps that take so many bytes as JSON. */
function stepsOfBytes(bytes: number) {
  const steps = (input: string) => [{ name: 'a', do: { type: 'a', input } }]
  return steps(text(bytes - JSON.stringify(steps('')).length))
}

const FIELDS = [
  'tags',
  'stage',
  'input',
  'userId',
  'delayMs',
  'priority',
  'leaseMs',
  'immutable',
  'throttle',
  'fairnessKey',
]

/** A field with one typing mistake, for which the API suggests the right name. */
function misspelt(dice: Dice): BoundRequest[] {
  const name = dice.pick(FIELDS)
  const at = dice.between(0, name.length - 2)
  const [before, letter, next, after] = [name.slice(0, at), name[at], name[at + 1], name.slice(at + 2)]
  const wrong = dice.pick([
    `${before}${next}${after}`,
    `${before}${letter}${letter}${next}${after}`,
    `${before}${next}${letter}${after}`,
    `${before}q${next}${after}`,
  ])
  if (wrong === name) return []
  return [{ kind: 'publish', body: { ...PUBLISH, [wrong]: 1 }, refused: wrong, says: `'${name}'` }]
}
