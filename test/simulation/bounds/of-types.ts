import { type Bound, field, flags, lists, numbers, text, texts, words } from './bound-request.ts'

const DAY_MS = 86_400_000
const TEN_YEARS_MS = 3_653 * DAY_MS
const HTTP = { kind: 'http' }
const FLOW = { kind: 'flow' }
const WITH_STEPS = { kind: 'flow', steps: [{ name: 's', do: { type: 'a' } }] }
const WEBHOOK = { kind: 'webhook' }
const LADDER = { kind: 'http', defaults: { retry: { backoff: 'ladder' } } }
const URL_CHARACTERS_MAX = 2_048

/** The configurations of task types. */
export const OF_TYPES: readonly Bound[] = [
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
    // A delay alone moves the other one with it.
    { kind: 'type', body: { ...HTTP, defaults: { retry: { delayMs: 120_000 } } } },
    { kind: 'type', body: { ...HTTP, defaults: { retry: { maxDelayMs: 10 } } } },
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
  flags('type', HTTP, 'events'),
  words('type', WITH_STEPS, 'onCancel', ['undo', 'leave']),
  words('type', HTTP, 'defaults.retry.scope', ['task', 'worker']),
  words('type', HTTP, 'defaults.retry.backoff', ['exponential', 'fibonacci', 'fixed']),
  lists('type', LADDER, 'defaults.retry.delaysMs', 100, nth => nth, 1),
  numbers('type', WITH_STEPS, 'defaults.deadlineMs', 1, TEN_YEARS_MS),
  numbers('type', WITH_STEPS, 'defaults.retentionMs', 0, TEN_YEARS_MS),
  numbers('type', HTTP, 'ifRevision', 0, Number.MAX_SAFE_INTEGER),
  numbers('type', WEBHOOK, 'webhook.timeoutMs', 1, 240_000),
  texts('type', WEBHOOK, 'webhook.secretName', 512),
  flags('type', WEBHOOK, 'webhook.allowPrivate'),
  field(
    'type',
    WEBHOOK,
    'webhook.url',
    ['HTTP://EXAMPLE.org', 'http://[::1]:8080/a?b=c#d', url(URL_CHARACTERS_MAX)],
    [url(URL_CHARACTERS_MAX + 1), 'example.org', 'https://', 'https://me@example.org', 7, null],
  ),
  () => [
    {
      kind: 'type',
      body: { ...WEBHOOK, webhook: { url: 'https://me:secret@example.org' } },
      refused: 'webhook.url',
      says: 'webhook.secretName',
      neverSays: 'me:secret',
    },
  ],
  () => [
    { kind: 'type', body: { ...FLOW }, refused: 'steps' },
    { kind: 'type', body: { ...WITH_STEPS, ordering: 'aged' }, refused: 'ordering' },
    { kind: 'type', body: { ...HTTP, onCancel: 'undo' }, refused: 'onCancel' },
    ...['leaseMs', 'heartbeatMs', 'timeoutMs', 'concurrency'].map(option => ({
      kind: 'type' as const,
      body: { ...WITH_STEPS, defaults: { [option]: 100 } },
      refused: `defaults.${option}`,
    })),
    { kind: 'type', body: { ...WITH_STEPS, defaults: { priority: 5 } } },
  ],
  () => [
    {
      kind: 'type',
      body: { ...HTTP, defaults: 7 },
      refused: 'defaults',
      says: 'an object',
      isInSchema: true,
    },
    { kind: 'type', body: { ...HTTP, limits: [] }, refused: 'limits', says: 'an object', isInSchema: true },
    {
      kind: 'type',
      body: { ...HTTP, limits: { rate: { limit: 1 } } },
      refused: 'limits.rate.perMs',
      says: 'is required',
      isInSchema: true,
    },
    {
      kind: 'type',
      body: { ...HTTP, limits: { concurrency: {} } },
      refused: 'limits.concurrency.max',
      says: 'is required',
      isInSchema: true,
    },
    { kind: 'type', body: { ...HTTP, limits: { speed: 1 } }, refused: 'limits.speed', isInSchema: true },
    { kind: 'type', body: { ...FLOW, steps: [7] }, refused: 'steps.0', isInSchema: true },
    { kind: 'type', body: { ...FLOW, steps: [{ name: 's' }] }, refused: 'steps.0.do', isInSchema: true },
    {
      kind: 'type',
      body: { ...FLOW, steps: [{ ...step(1), undo: { type: 'a', timeoutMs: 0 } }] },
      refused: 'steps.0.undo.timeoutMs',
      isInSchema: true,
    },
    { kind: 'type', body: 'x', refused: '', says: 'an object', isInSchema: true },
  ],
  field('type', HTTP, 'inputSchema', [{}, { type: 'object' }], [5, 'x', null]),
  field('type-name', {}, 'type', ['a', 'canvas1', 'Schedule'], ['canvas', 'schedule', text(101), 7]),
  () => [
    ...[undefined, 5, null, {}, { url: 5 }, { url: 'nothing' }, { url: 'https://example.org' }].map(input =>
      webhookInput({}, input),
    ),
    webhookInput({}, { url: 'https://me:secret@example.org' }, 'input.url'),
    webhookInput({ webhook: { timeoutMs: 5 } }, { url: 'https://me@example.org' }, 'input.url'),
    // The URL of the type is called, whatever the input has.
    webhookInput({ webhook: { url: 'https://example.org' } }, { url: 'https://me:secret@example.org' }),
    webhookInput(HTTP, { url: 'https://me:secret@example.org' }),
  ],
  dice => {
    const end = `${text(dice.between(1, 90))}${dice.pick(['', '.', '-0123abcd'])}`
    return [
      { kind: 'queue-name', body: { types: LONG_TYPES.map(start => `${start}${end}`.slice(0, 100)) } },
      { kind: 'queue-name', body: { types: [end, 'a.b', 'a_b', 'a.b.', 'a_b.', text(99), text(100)] } },
    ]
  },
]

/** Types whose names differ, and can look alike once a dot is replaced or the end is cut. */
const LONG_TYPES = ['a.b', 'a_b', 'a-b', 'a.b.', 'A.b', 'ab']

function webhookInput(configuration: object, input: unknown, refused?: string) {
  const body = { configuration: { ...WEBHOOK, ...configuration }, input }
  return { kind: 'webhook-input' as const, body, ...(refused !== undefined && { refused }) }
}

function url(characters: number): string {
  return 'https://example.org/'.padEnd(characters, 'a')
}

function step(nth: number) {
  return { name: `s${nth}`, do: { type: 'a' } }
}

/** Steps that take so many bytes as JSON. */
function stepsOfBytes(bytes: number) {
  const steps = (input: string) => [{ name: 'a', do: { type: 'a', input } }]
  return steps(text(bytes - JSON.stringify(steps('')).length))
}
