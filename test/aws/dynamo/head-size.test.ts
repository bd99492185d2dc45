import { describe, expect, it } from 'vitest'
import { itemSize } from '../../../local/gateway/metering.ts'
import { updateHead } from '../../../shared/aws/dynamo/head/head-requests.ts'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import {
  CONCURRENCY_MAX,
  DERIVED_KEY_CHARACTERS_MAX,
  FAILING_WORKERS_MAX,
  INLINE_BODY_BYTES_MAX,
  KEY_CHARACTERS_MAX,
  OPERATIONS_KEPT_MAX,
  PRINCIPAL_CHARACTERS_MAX,
  PROGRESS_BYTES_MAX,
  RECENT_RUNS_MAX,
  SHORT_ERROR_CHARACTERS_MAX,
  STEPS_MAX,
  TYPE_CHARACTERS_MAX,
  WORKER_ID_BYTES_MAX,
} from '../../../shared/core/bounds.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { expire, lose } from '../../../shared/core/run/lease.ts'
import type { EndedRun, LiveRun, Task } from '../../../shared/core/task/task.ts'
import { wireItem } from '../../support/dynamo/wire-item.ts'
import {
  aFlow,
  afterOf,
  aPublication,
  aTask,
  BORN,
  changeOf,
  HOUR,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

/** Heads at every limit at once. DynamoDB refuses items above 400 KB and expressions above 4 KB or 300 operators. */
const ITEM_BYTES_MAX = 400 * 1024
const EXPRESSION_BYTES_MAX = 4 * 1024
const OPERATORS_MAX = 300

/** The longest character of UTF-8, two units of UTF-16. */
const WIDE = '𝕏'
const LATER = NOW + HOUR

const wide = (count: number) => WIDE.repeat(count)
const textOf = (jsonBytes: number) => 'x'.repeat(jsonBytes - 2)
const workerOf = (n: number) => `${String(n).padStart(4, '0')}${wide(WORKER_ID_BYTES_MAX / 4 - 1)}`
const progress = textOf(PROGRESS_BYTES_MAX)
const inline = { inline: textOf(INLINE_BODY_BYTES_MAX) }
const TYPE = 't'.repeat(TYPE_CHARACTERS_MAX)
/** Names of limits take 40 units of a value. */
const permits = ['a', 'b'].map(one => ({
  limit: `${one}${TYPE.slice(1)}=${'ｘ'.repeat(40)}`,
  holder: '0123456789',
}))
/** Control characters take six bytes in JSON. */
const error = {
  name: '\u0001'.repeat(SHORT_ERROR_CHARACTERS_MAX),
  message: '\u0001'.repeat(SHORT_ERROR_CHARACTERS_MAX),
}

const aLiveRun = (fence: number): LiveRun => ({
  fence,
  workerId: workerOf(fence),
  startedAt: NOW,
  leaseUntil: NOW + 15 * SECOND,
  timeoutAt: NOW + HOUR,
  progress,
  permits,
})

const anEnded = (fence: number, state: EndedRun['state']): EndedRun => ({
  ...{ fence, workerId: workerOf(fence), state, startedAt: NOW, endedAt: NOW, progress },
  piece: wide(TYPE_CHARACTERS_MAX),
  ...(state === 'succeeded' ? { result: inline } : { error, cause: 'timed-out' as const }),
})

const numbered = <T>(count: number, from: number, one: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => one(from + n))

const changesBy = (principal: (nth: number) => string) =>
  numbered(OPERATIONS_KEPT_MAX, 0, nth => ({ at: NOW + nth, by: principal(nth), what: 'retry-undo' }))

/** Everything that users may set, and the greatest number of runs. */
function fullTask(live: number, succeeded: number, parts: Partial<Task> = {}): Task {
  const failed = numbered(RECENT_RUNS_MAX, 1_000, n => anEnded(n, 'failed'))
  const task = aTask({
    ...{
      type: TYPE,
      key: wide(DERIVED_KEY_CHARACTERS_MAX),
      kind: 'http',
      ordering: 'priority',
      priority: -1_000_000_000,
    },
    ...{
      userId: wide(KEY_CHARACTERS_MAX),
      fairnessKey: wide(KEY_CHARACTERS_MAX),
      stage: wide(TYPE_CHARACTERS_MAX),
    },
    tags: Object.fromEntries(numbered(50, 10, n => [`${n}${wide(126)}`, wide(256)])),
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    operations: changesBy(nth => `${nth}${wide(PRINCIPAL_CHARACTERS_MAX / 2 - 1)}`),
    options: {
      concurrency: CONCURRENCY_MAX,
      workerIds: numbered(CONCURRENCY_MAX, 0, workerOf),
      minWorkerVersion: '123456789.123456789.123456789.123456789',
      ...{
        heartbeatMs: 86_399_999,
        leaseMs: 86_399_999,
        timeoutMs: 315_619_199_999,
        deadlineMs: 315_619_199_999,
      },
      retentionMs: 315_619_199_999,
      retry: {
        ...{ maxRetries: 1_000, backoff: 'ladder', delayMs: 315_619_199_999, maxDelayMs: 315_619_199_998 },
        ...{
          delaysMs: numbered(100, 315_619_199_000, n => n),
          jitter: 0.123456789,
          scope: 'worker',
          localRetries: 100,
        },
      },
    },
    limitValues: {
      [wide(TYPE_CHARACTERS_MAX)]: 'ｘ'.repeat(40),
      [wide(TYPE_CHARACTERS_MAX - 1)]: 'ｘ'.repeat(40),
    },
    ...{ input: inline, callbacks: { body: inline, onSuccess: 100, onError: 100 } },
    previous: { handOn: 'spread', kind: 'body', body: inline },
    member: { canvasId: wide(KEY_CHARACTERS_MAX), born: 'b'.repeat(26), leaf: 99_999, first: 'failed' },
    parentId: `${TYPE}:${wide(DERIVED_KEY_CHARACTERS_MAX)}`,
    failuresBy: Object.fromEntries(numbered(FAILING_WORKERS_MAX, 0, n => [workerOf(n), 1_000])),
    retryAtBy: Object.fromEntries(numbered(FAILING_WORKERS_MAX, 0, n => [workerOf(n), NOW + HOUR])),
    failures: 100_000,
    error,
    live: numbered(live, 0, aLiveRun),
    ended: [...numbered(succeeded, 200, n => anEnded(n, 'succeeded')), ...failed],
    fence: 999_999,
    ...parts,
  } as Parameters<typeof aTask>[0])
  return { ...task, deadlineAt: NOW + HOUR, startedAt: NOW }
}

/** A flow at its last step, on which many workers run. Its options come with its definition. */
function fullFlow(): Task {
  const action = {
    attempts: 9_999,
    startedAt: NOW,
    endedAt: NOW,
    fence: 9_999,
    workerId: workerOf(1),
    ranAt: NOW,
  }
  const steps = Object.fromEntries(
    numbered(STEPS_MAX, 0, n => [
      n,
      { state: 'undoing' as const, do: action, undo: { ...action, workerId: '' }, result: inline },
    ]),
  )
  const step = aFlow().steps[0]
  if (!step) throw new Error('a flow has steps')
  const definition = { ...aFlow(), steps: numbered(STEPS_MAX, 0, n => ({ ...step, name: `s${n}` })) }
  const flow = {
    definition,
    reachedStep: 0,
    presentStep: 0,
    direction: 'do' as const,
    steps: { ...steps, 0: { state: 'running' as const, do: action } },
  }
  return fullTask(CONCURRENCY_MAX, 0, { kind: 'flow', flow })
}

function bytesOf(task: Task): number {
  return itemSize(wireItem({ ...headItem(task), tok: '12345678' }))
}

const succeed = { outcome: 'succeed', result: textOf(INLINE_BODY_BYTES_MAX) } as const
/** The run with the fence 0 succeeds. */
const succeeding = (task: Task, more: object = {}) =>
  finish(task, { born: task.born, fence: 0, ...succeed, ...more }, NOW, 0)
const crowd = () => fullTask(CONCURRENCY_MAX, 0)
const unlisted = () => ({ ...fullTask(1, 0).options, workerIds: [] })

const CHANGES: ReadonlyArray<readonly [string, () => Parameters<typeof changeOf<Task>>[0]]> = [
  ['100 runs are cancelled', () => cancel(crowd(), LATER)],
  ['the deadline ends 100 runs', () => ({ ok: true, change: expire(crowd(), LATER) })],
  ['the leases of 100 runs have ended', () => lose(crowd(), LATER)],
  [
    'a patch excludes 99 of 100 runs',
    () => patch(crowd(), { options: { concurrency: 1, leaseMs: 1_000, workerIds: [workerOf(0)] } }, NOW),
  ],
  ['a patch changes the leases of 100 runs', () => patch(crowd(), { options: { leaseMs: 1_000 } }, NOW)],
  ['a patch moves 100 runs to another stage', () => patch(crowd(), { stage: 'next' }, NOW)],
  [
    'the last of 100 successes moves the task on',
    () => succeeding(fullTask(1, 99), { next: { stage: 'next' } }),
  ],
  ['one of 100 runs succeeds', () => succeeding(crowd())],
  [
    'a worker claims in place of lost runs',
    () => {
      const task = fullTask(100, 0, { options: unlisted(), deadlineAt: LATER + HOUR })
      return claim(task, { workerId: 'new', version: '999999999' }, NOW + 60 * SECOND)
    },
  ],
  ['a flow in a crowded step is cancelled', () => cancel(fullFlow(), LATER)],
]

it('a head of a plain task with 200 bytes of input and of result stays well under 1,000 bytes', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const publication = aPublication({ key: 'k'.repeat(33), traceparent, input: 'x'.repeat(198) })
  const published = create(publication, undefined, NOW).after
  const running = afterOf(claim(published, { workerId: 'resize-4f0c2a7e91d3' }, NOW + 1))
  const word = { born: BORN, fence: 1, outcome: 'succeed' as const }
  const done = afterOf(finish(running, word, NOW + 2, 0))
  const withResult = afterOf(finish(running, { ...word, result: 'x'.repeat(198) }, NOW + 2, 0))

  expect(published.id).toHaveLength(40)
  expect(bytesOf(published)).toBeLessThan(600)
  expect(bytesOf(done)).toBeLessThan(700)
  expect(bytesOf(withResult)).toBeLessThan(900)
})

it.each([
  ['ten', OPERATIONS_KEPT_MAX, 'of a plain task', undefined],
  ['three', 3, 'with 200 bytes each of input and result', inline],
])('%s changes by one principal leave a head %s within one write unit', (_count, count, _kind, body) => {
  const by = 'arn:aws:sts::123456789012:assumed-role/operators/somebody@example.com'
  const { result: _result, ...ended } = anEnded(7, 'succeeded')
  const task = aTask({
    ...{
      key: 'k'.repeat(33),
      state: 'succeeded',
      startedAt: NOW,
      finishedAt: NOW,
      expiresAt: LATER,
      fence: 7,
    },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ended: [{ ...ended, workerId: 'w'.repeat(22), piece: 'p', progress: 1, ...(body && { result: body }) }],
    operations: changesBy(() => by).slice(0, count),
    ...(body && { input: body }),
  })

  expect(bytesOf(task)).toBeLessThan(1_024)
})

describe('a head at all limits at once', () => {
  it.each([
    ['with 100 live runs', fullTask(100, 0)],
    ['with 99 successes and a live run', fullTask(1, 99)],
    ['of a flow of 100 steps with 100 live runs', fullFlow()],
  ])('%s stays within an item of DynamoDB', (_name, task) => {
    expect(bytesOf(task)).toBeLessThan(ITEM_BYTES_MAX)
  })

  it.each(CHANGES)('stays so when %s, in an expression that DynamoDB accepts', (_name, decide) => {
    const change = changeOf(decide())
    const { UpdateExpression = '', ConditionExpression = '' } = updateHead('T', change as never, 'token123')

    expect(bytesOf(change.after)).toBeLessThan(ITEM_BYTES_MAX)
    for (const text of [UpdateExpression, ConditionExpression]) {
      expect(Buffer.byteLength(text)).toBeLessThan(EXPRESSION_BYTES_MAX)
      expect((text.match(/=| AND |\bNOT\b|attribute_/g) ?? []).length).toBeLessThan(OPERATORS_MAX)
    }
  })
})

it('a head with the runs of 100 workers, whose ids have 26 characters, costs 7 units a write, and 8 with their successes', () => {
  const started = Array.from({ length: CONCURRENCY_MAX }, (_, nth) => ({
    fence: 28_112_632 + nth,
    workerId: `w${nth}`.padEnd(26, 'x'),
    startedAt: NOW,
  }))
  const options = { concurrency: CONCURRENCY_MAX }
  const live = started.map(run => ({ ...run, leaseUntil: LATER }))
  const ended = started.map(run => ({ ...run, state: 'succeeded' as const, endedAt: LATER }))

  const units = [aTask({ options, live }), aTask({ options, ended })].map(task => bytesOf(task) / 1024)

  expect(units.map(Math.ceil)).toEqual([7, 8])
})
