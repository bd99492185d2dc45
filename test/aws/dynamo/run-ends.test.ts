import { beforeAll, describe, expect, it } from 'vitest'
import { DELAY_MS_MAX, PRIORITY_MAX, TYPE_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { Fatal, Next, Release, RetryLater } from '../../../shared/signals.ts'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import type { DynamoStores } from '../../support/dynamo/dynamo-stores.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

/** Every end of a run by its handler must be written, although DynamoDB stores no NaN, no Infinity and at most 38 digits. */

const dynamo = aDynamo()
let stores: DynamoStores
let system: MemorySystem
beforeAll(async () => {
  stores = await dynamo.newStores()
  system = { ...aMemorySystem(), ...stores }
  await registered(system)
})

type Run = (input: unknown, context: TaskContext) => unknown

let count = 0
async function afterRun(run: Run): Promise<Task> {
  const task = await stored(system, { key: `k${count++}`, stage: 'one' })
  const definition = { kind: 'baton-task', type: 'resize', config: {}, run } as never
  await runTask(system, task, { workerId: 'w1' }, { definition })
  const head = await readTask(system, task.id)
  if (!head) throw new Error('the task is gone')
  return head
}

const NOT_DELAYS = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.MAX_SAFE_INTEGER,
  8.65e15,
  -1,
  DELAY_MS_MAX + 1,
]
const NOT_NUMBERS = ['5', null, {}, 5n] as unknown as number[]
const NOT_STAGES = ['', 'x'.repeat(TYPE_CHARACTERS_MAX + 1), 'a\nb', '\ud800', 7 as unknown as string]
const NOT_PRIORITIES = [Number.NaN, 1.5, PRIORITY_MAX + 1, Number.NEGATIVE_INFINITY]

/** A signal as another version of the package may have it, or one that a handler has changed. */
const changed = <Made extends object>(made: Made, fields: object): Made => Object.assign(made, fields)

describe('a run ends as failed, with an error that says what would be legal, when its handler', () => {
  it.each([...NOT_DELAYS, ...NOT_NUMBERS])(
    'throws RetryLater or Release with the delay %s',
    async delayMs => {
      for (const make of [() => new RetryLater(delayMs), () => new Release(delayMs)]) {
        const head = await afterRun(() => {
          throw make()
        })

        expect(head).toMatchObject({ state: 'open', failures: 1, live: {}, error: { name: 'RangeError' } })
        expect(head.error?.message).toMatch(/^(RetryLater|Release): delayMs must be .* from 0 to 3156/)
        expect(head.dueAt - head.updatedAt).toBe(1_000)
      }
    },
  )

  it.each([...NOT_DELAYS, ...NOT_NUMBERS])('throws a changed RetryLater or Release: %s', async delayMs => {
    const later = await afterRun(() => {
      throw changed(new RetryLater(1, 'the shop is closed'), { delayMs })
    })
    const release = await afterRun(() => changed(new Release(), { delayMs }))

    expect(later).toMatchObject({ state: 'open', live: {}, error: { name: 'InvalidRetryLater' } })
    expect(release).toMatchObject({ state: 'open', live: {}, error: { name: 'InvalidRelease' } })
    expect(later.failures + release.failures).toBe(2)
    expect(release.error?.message).toMatch(/delayMs must be .* from 0 to 3156/)
    expect(Object.values(later.ended)[0]?.error?.message).toContain('RetryLater: delayMs must be')
  })

  const NEXTS: ReadonlyArray<[string, string, object]> = [
    ...NOT_STAGES.map(stage => ['stage', stage, {}] as [string, string, object]),
    ...NOT_PRIORITIES.map(priority => ['priority', 'two', { priority }] as [string, string, object]),
    ...NOT_DELAYS.map(delayMs => ['delayMs', 'two', { delayMs }] as [string, string, object]),
  ]
  it.each(NEXTS)('returns `next` with a %s that cannot be stored: %j %j', async (field, stage, options) => {
    const made = await afterRun((_input, { next }) => next(stage, options))
    const written = await afterRun(() => changed(new Next('two'), { stage, ...options }))

    expect(made).toMatchObject({ state: 'open', failures: 1, stage: 'one', error: { name: 'RangeError' } })
    expect(made.error?.message).toMatch(new RegExp(`^next: ${field} must be`))
    expect(written).toMatchObject({ state: 'failed', stage: 'one', error: { name: 'InvalidNext' } })
    expect(written.error?.message).toMatch(new RegExp(`^next: ${field} must be`))
  })

  const circular: { self?: unknown } = {}
  circular.self = circular
  it.each<[string, unknown]>([
    ['an error whose message is not a text', changed(new Error('x'), { message: { code: 7 } })],
    ['an error whose name is not a text', changed(new Fatal('x'), { name: 7 })],
    ['an object without a prototype', Object.create(null)],
    ['an object that contains itself', circular],
    ['a bigint', 7n],
    ['a symbol', Symbol('x')],
    ['nothing', undefined],
  ])('throws %s', async (_what, thrown) => {
    const head = await afterRun(() => {
      throw thrown
    })

    expect(head).toMatchObject({ live: {}, failures: 1 })
    expect(typeof head.error?.message).toBe('string')
  })

  class OtherRetryLater extends Error {
    override readonly name = 'RetryLater'
    readonly delayMs = Number.NaN
  }
  class OtherNext {
    readonly kind = 'baton-next'
    readonly stage = ''
    readonly delayMs = Number.NaN
  }
  it.each<[string, Run, object]>([
    [
      'throws',
      () => {
        throw new OtherRetryLater('later')
      },
      { state: 'open', error: { name: 'RetryLater', message: 'later' } },
    ],
    ['returns', () => new OtherNext(), { state: 'failed', error: { name: 'InvalidResult' } }],
  ])('%s a signal of another copy of the package', async (_how, run, expected) => {
    expect(await afterRun(run)).toMatchObject({ live: {}, failures: 1, stage: 'one', ...expected })
  })

  it('reports progress that is not a number, and does not catch the refusal', async () => {
    const head = await afterRun((_input, { progress }) => progress({ done: Number.NaN }))

    expect(head).toMatchObject({ live: {}, failures: 1, error: { name: 'TypeError' } })
    expect(head.error?.message).toContain('progress done is NaN')
  })
})

it('delays with a fraction are rounded up, and the longest are kept', async () => {
  const later = await afterRun(() => {
    throw new RetryLater(1_500.2)
  })
  const longest = await afterRun(() => new Release(DELAY_MS_MAX))

  expect(later.dueAt - later.updatedAt).toBe(1_501)
  expect(longest.dueAt - longest.updatedAt).toBe(DELAY_MS_MAX)
})
