import type { Dice } from '../generate/dice.ts'
import type { Bound, BoundRequest } from './bound-request.ts'
import { field, lists, numbers, schemaField, text, texts } from './bound-request.ts'

const BODY_BYTES_MAX = 350 * 1_024
const DAY_MS = 86_400_000
const TEN_YEARS_MS = 3_653 * DAY_MS
const PUBLISH = { type: 'a' }
const LADDER = { type: 'a', retry: { backoff: 'ladder' } }
const EVERY_KIND_OF_VALUE = [
  [[], 'an empty list'],
  [[1], 'a list'],
  [{}, 'an object'],
  [null, 'null'],
  ['x', "'x'"],
] as const

export const OF_PUBLISHES: readonly Bound[] = [
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
  schemaField('publish', PUBLISH, 'retry.jitter', [0, 0.5, 1], [-0.1, 1.1, 'x']),
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

function tags(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, nth) => [`t${nth}`, 'a']))
}

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
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
