import fc from 'fast-check'

/** This file generates request bodies that make little sense, as JSON text. */

const NESTING_DEPTH = 250

/** The values are text, because no JavaScript value gives such JSON: `-0`, doubled members, `__proto__`, 1e400. */
const oddString = fc.oneof(
  fc.constantFrom(
    '""',
    '"\\ud800"',
    '"a\\udfffb"',
    '"\\u0000"',
    '"a\\nb"',
    '"\\u007f\\u0085"',
    '"\\uffff"',
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"~"',
    '"a b/c?d#e%41"',
    '"ﬁ👩‍👩‍👧ü"',
    '"w1"',
    '"jobs"',
    '"jobs:k1"',
    '"2026-02-30T00:00:00Z"',
    '"2026-03-01T00:00:00Z"',
    '"9999-12-31T23:59:59Z"',
    '"1.2.3"',
    '"0 0 31 2 *"',
    '"* * * * * *"',
    '"Mars/Olympus"',
    '"http://[::1]/"',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map(text => JSON.stringify(text)),
  fc.constantFrom(41, 128, 200, 201, 257, 2_100).map(length => JSON.stringify('x'.repeat(length))),
  fc.constantFrom(200, 201).map(length => JSON.stringify('😀'.repeat(length))),
)

const oddNumber = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1',
    '-1',
    '1.5',
    '1e300',
    '1e400',
    '-1e-300',
    '9007199254740993',
    '1E2',
    '0.1e1',
  ),
  fc.constantFrom('2', '100', '101', '1000', '2147483648', '4294967296', '8640000000000001', '1000000001'),
  fc.integer().map(String),
)

export const oddJson: fc.Arbitrary<string> = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '{}', '[]'),
    oddNumber,
    oddString,
    fc.array(tie('value'), { maxLength: 3 }).map(members => `[${members.join(',')}]`),
    fc
      .array(fc.tuple(oddString, tie('value')), { maxLength: 3 })
      .map(members => `{${members.map(([name, value]) => `${name}:${value}`).join(',')}}`),
    fc.constantFrom(
      `${'['.repeat(NESTING_DEPTH)}${']'.repeat(NESTING_DEPTH)}`,
      `${'{"a":'.repeat(NESTING_DEPTH)}1${'}'.repeat(NESTING_DEPTH)}`,
    ),
  ),
})).value

/** The fields of a body with valid values, as JSON text. `spoilt` replaces some of them. */
type Template = Readonly<Record<string, string>>

const PUBLISH: Template = {
  type: '"jobs"',
  key: '"k1"',
  input: '{"tenant":"a"}',
  userId: '"u1"',
  tags: '{"a":"b"}',
  delayMs: '0',
  dueAt: '"2026-03-01T00:00:00Z"',
  priority: '1',
  stage: '"one"',
  concurrency: '2',
  workerIds: '["w1","w2"]',
  minWorkerVersion: '"1.0"',
  heartbeatMs: '500',
  leaseMs: '2000',
  timeoutMs: '60000',
  deadlineMs: '60000',
  retentionMs: '60000',
  retry: '{"maxRetries":1,"backoff":"ladder","delaysMs":[1],"jitter":0.5,"scope":"worker"}',
  traceparent: '"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"',
  immutable: 'true',
  fairnessKey: '"t1"',
  onSuccess: '[{"type":"jobs"}]',
  onError: '[{"type":"resize","input":[1]}]',
  ifExists: '"update"',
  clean: '["failed"]',
  debounce: '{"ms":10}',
  throttle: '{"perMs":10}',
}

const FENCE = { fence: '1' }
const ERROR = '{"name":"E","message":"m","stack":"s"}'

const TYPE: Template = {
  kind: '"http"',
  defaults: '{"concurrency":1,"retry":{"maxRetries":0}}',
  ordering: '"aged"',
  limits: '{"rate":{"limit":5,"perMs":1000,"key":"tenant"},"concurrency":{"max":3,"key":"tenant"}}',
  shards: '4',
  events: 'true',
  webhook: '{"url":"https://example.com/"}',
  steps: '[{"name":"a","do":{"type":"jobs"},"undo":{"type":"jobs"}}]',
  onCancel: '"undo"',
}

/** The templates of the bodies by operation. */
const BODIES: Readonly<Record<string, readonly Template[]>> = {
  publish: [PUBLISH, { tasks: '[{"type":"jobs"},{"type":"resize","key":"k2"},null]' }],
  patch: [{ ...PUBLISH, ifRevision: '1' }],
  retry: [{ action: '"restart"', clean: '["succeeded"]' }],
  cancel: [{}],
  claim: [
    {
      type: '"jobs"',
      types: '["jobs"]',
      workerId: '"w1"',
      limit: '5',
      workerVersion: '"1.2"',
      requestId: '"r1"',
      waitMs: '0',
    },
  ],
  heartbeat: [{ ...FENCE, progress: '{"done":1}' }],
  succeed: [{ ...FENCE, result: '{"a":1}', next: '{"stage":"two","input":[1],"delayMs":5}' }],
  fail: [{ ...FENCE, error: ERROR, fatal: 'false', retryInMs: '0' }],
  release: [{ ...FENCE, delayMs: '0' }],
  runs: [
    { runs: `[{"taskId":"jobs:k1","runId":"x","fence":1,"outcome":"fail","error":${ERROR}}]` },
    {
      runs: '[{"taskId":"jobs:k1","runId":"01AAAAAAAAAAAAAAAAAAAAAAAA.1","fence":1,"outcome":"succeed","result":1}]',
    },
  ],
  putType: [TYPE],
  purge: [{ status: '["failed"]', before: '"2026-01-01T00:00:00Z"' }],
  canvas: [
    { key: '"c1"', chain: '[{"type":"jobs","input":[1]},{"group":[{"type":"jobs"}]}]', sendConcurrency: '2' },
    { chord: '{"group":[{"type":"jobs"}],"then":{"type":"jobs"}}', userId: '"u1"' },
  ],
  schedule: [
    {
      cron: '"*/5 * * * *"',
      everyMs: '60000',
      at: '"2030-01-01T00:00:00Z"',
      timezone: '"Europe/Berlin"',
      missed: '{"catchUp":2}',
      graceMs: '300000',
      task: '{"type":"jobs","input":{"a":1}}',
    },
  ],
}

/** Puts most inputs into the field `tenant`, by which the limits of the search count tasks. */
function asTenant(value: string): string {
  return value.length % 3 === 0 ? value : `{"tenant":${value}}`
}

const doubled = fc.boolean()

/**
 * Makes an object of some fields of a template. Up to `changes` of them are replaced, one may be doubled, and a foreign one may be
 * added. The fields without which the API would not judge the rest of the body are always there.
 */
export function spoilt(template: Template, changes: number): fc.Arbitrary<string> {
  const names = Object.keys(template)
  const kept = names.length === 0 ? fc.constant([]) : fc.subarray(names)
  const replaced =
    names.length === 0
      ? fc.constant([])
      : fc.array(fc.tuple(fc.constantFrom(...names), oddJson), { maxLength: changes })
  const foreign = fc.array(fc.tuple(oddString, oddJson), { maxLength: 1 })
  const required = ['type', 'workerId', 'fence', 'kind', 'task', 'error', 'status'].filter(
    name => name in template,
  )
  return fc
    .tuple(kept, replaced, fc.option(foreign, { freq: 4, nil: [] }), doubled)
    .map(([some, other, more, isDoubled]) => {
      const odd = new Map(
        other.map(([name, value]) => [name, name === 'input' ? asTenant(value) : value] as const),
      )
      const all = [...new Set([...required, ...some, ...odd.keys()])]
      const members = all.map(name => `${JSON.stringify(name)}:${odd.get(name) ?? template[name]}`)
      const last = isDoubled ? members.slice(-1) : []
      return `{${[...members, ...last, ...more.map(([name, value]) => `${name}:${value}`)].join(',')}}`
    })
}

/** Bodies of tasks that the API mostly accepts. Every text that a user may choose is odd. */
export const oddTask: fc.Arbitrary<string> = fc
  .record(
    {
      key: oddString,
      input: oddString.map(text => `{"tenant":${text}}`),
      userId: oddString,
      fairnessKey: oddString,
      stage: oddString,
      tags: fc.tuple(oddString, oddString).map(([name, value]) => `{${name}:${value}}`),
      workerIds: fc.array(oddString, { maxLength: 2 }).map(ids => `["checker",${ids}]`.replace(',]', ']')),
      onSuccess: oddString.map(text => `[{"type":"jobs","input":${text}}]`),
    },
    { requiredKeys: ['input'] },
  )
  .map(fields => {
    const members = Object.entries(fields).map(([name, value]) => `"${name}":${value}`)
    return `{"type":"jobs",${members.join(',')}}`
  })

/** The operations whose bodies routes take, by a route's last segment or its last two. */
const BY_SEGMENT: Readonly<Record<string, string>> = {
  tasks: 'publish',
  batch: 'publish',
  'tasks/{}': 'patch',
  claims: 'claim',
  'runs/heartbeat': 'runs',
  'runs/finish': 'runs',
  heartbeat: 'heartbeat',
  succeed: 'succeed',
  fail: 'fail',
  release: 'release',
  retry: 'retry',
  purge: 'purge',
  'types/{}': 'putType',
  canvases: 'canvas',
  'schedules/{}': 'schedule',
}

/** The templates of a route's body. A route that takes no body has an empty template. */
export function templatesOf(path: string): readonly Template[] {
  const [before = '', last = ''] = path
    .replace(/\{\w+\}/g, '{}')
    .split('/')
    .slice(-2)
  return BODIES[BY_SEGMENT[`${before}/${last}`] ?? BY_SEGMENT[last] ?? ''] ?? [{}]
}
