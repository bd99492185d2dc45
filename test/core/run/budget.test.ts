import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DELAY_MS_MAX, FAILING_WORKERS_MAX } from '../../../shared/core/bounds.ts'
import type { PartialOptions, Retry } from '../../../shared/core/options.ts'
import { DEFAULT_OPTIONS, resolveOptions } from '../../../shared/core/options.ts'
import { create } from '../../../shared/core/publish.ts'
import { backoffMs } from '../../../shared/core/run/backoff.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { withFailure } from '../../../shared/core/run/judge-budget.ts'
import { failuresOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import { hasBudget, invocationWorkerId } from '../../../shared/core/worker.ts'
import { aPublication, aRun, aTask, changeIn, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { nextWake } from '../../support/tasks/next-wake.ts'
import { options, WORKERS } from '../../support/tasks/random-steps.ts'

type Fate = 'fails' | 'dies' | 'hangs'

/** Lets workers claim whenever they may, and fail each in its own way, until the task ends. */
function tormented(options: PartialOptions, fates: readonly Fate[]): { task: Task; griefs: number } {
  let task: Task = create(aPublication({ options }), undefined, NOW).after
  let now = NOW
  for (let round = 0; task.state === 'open' && round < 1_000; round++) {
    for (const workerId of [...WORKERS, `stranger${round}`]) {
      task = claim(task, { workerId }, now).change?.after ?? task
    }
    const fate = fates[round % fates.length]
    const fence = Object.keys(task.live)[0]
    if (fate === 'fails' && fence) {
      const error = { name: 'Error', message: 'no' }
      const word = { born: task.born, fence: Number(fence), outcome: 'fail' as const, error }
      task = changeIn(finish(task, word, now, 0))?.after ?? task
    }
    now = Math.max(now + SECOND, nextWake(task, now) ?? now)
    task = changeIn(look(task, now, 0))?.after ?? task
  }
  return { task, griefs: task.failures }
}

/** The most failed and lost runs that a task's budget allows. */
function mostFailures(given: PartialOptions): number {
  const { concurrency, workerIds, retry } = resolveOptions(given)
  if (retry.scope === 'task') return retry.maxRetries + 1
  if (workerIds.length === 0) return concurrency * (retry.maxRetries + 1)
  return workerIds.length * (retry.maxRetries + 1)
}

it('a task whose runs never succeed ends failed, within its budget', () => {
  const fates = fc.array(fc.constantFrom<Fate>('fails', 'dies', 'hangs'), { minLength: 1, maxLength: 5 })

  const property = fc.property(options, fates, (options, fates) => {
    const { task, griefs } = tormented(options, fates)

    expect(task.state).toBe('failed')
    expect(griefs).toBeLessThanOrEqual(mostFailures(options))
  })
  fc.assert(property, { numRuns: 300 })
})

const retry = (parts: Partial<Retry>): Retry => ({ ...DEFAULT_OPTIONS.retry, ...parts })
const delays = (parts: Partial<Retry>, count: number) =>
  Array.from({ length: count }, (_, i) => backoffMs(retry(parts), i + 1, 0))

describe('the wait before a retry', () => {
  it.each<[string, Partial<Retry>, number[]]>([
    [
      'exponential doubles up to the maximum',
      { backoff: 'exponential', delayMs: 1_000, maxDelayMs: 10_000 },
      [1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
    ],
    ['fixed stays', { backoff: 'fixed', delayMs: 700 }, [700, 700, 700]],
    ['fixed is bounded too', { backoff: 'fixed', delayMs: 700, maxDelayMs: 500 }, [500]],
    [
      'fibonacci is 1, 2, 3, 5, 8',
      { backoff: 'fibonacci', delayMs: 1_000, maxDelayMs: 60_000 },
      [1_000, 2_000, 3_000, 5_000, 8_000, 13_000],
    ],
    [
      'fibonacci ends at the maximum',
      { backoff: 'fibonacci', delayMs: 1_000, maxDelayMs: 6_000 },
      [1_000, 2_000, 3_000, 5_000, 6_000, 6_000],
    ],
    [
      'a ladder repeats its last delay and knows no maximum',
      { backoff: 'ladder', delaysMs: [15_000, 30_000, 900_000], maxDelayMs: 1_000 },
      [15_000, 30_000, 900_000, 900_000, 900_000],
    ],
    ['a ladder without delays waits delayMs', { backoff: 'ladder', delayMs: 40 }, [40, 40]],
    ['an empty ladder waits delayMs', { backoff: 'ladder', delaysMs: [], delayMs: 40 }, [40, 40]],
    ['no delay stays none', { backoff: 'exponential', delayMs: 0 }, [0, 0, 0]],
  ])('%s', (_name, parts, expected) => {
    expect(delays(parts, expected.length)).toEqual(expected)
  })

  it.each(['exponential', 'fibonacci', 'fixed', 'ladder'] as const)(
    'is a time that can be stored after any number of failures and with the longest delays (%s)',
    backoff => {
      const longest = { delayMs: DELAY_MS_MAX, maxDelayMs: DELAY_MS_MAX, delaysMs: [1e300] }
      for (const parts of [{ delayMs: 0 }, longest]) {
        for (const nth of [1, 1_000, 1_026, 100_100]) {
          const delay = backoffMs(retry({ backoff, ...parts }), nth, 0.5)
          expect([nth, Number.isInteger(delay) && delay >= 0 && delay <= DELAY_MS_MAX]).toEqual([nth, true])
        }
      }
    },
  )

  it.each([
    [0, 0, 1_000],
    [0.2, 0, 1_000],
    [0.2, 0.5, 900],
    [0.2, 1, 800],
    [1, 1, 0],
  ])('jitter %d at chance %d leaves %d of 1000', (jitter, chance, expected) => {
    expect(backoffMs(retry({ jitter }), 1, chance)).toBe(expected)
  })

  it('is always a whole number between what jitter leaves and the maximum', () => {
    const kinds = fc.constantFrom('exponential', 'fixed', 'fibonacci')
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    const property = fc.property(
      kinds,
      fc.nat(100_000),
      fc.nat(1_000),
      share,
      share,
      (backoff, delayMs, n, jitter, chance) => {
        const plain = backoffMs(retry({ backoff, delayMs }), n + 1, 0)
        const jittered = backoffMs(retry({ backoff, delayMs, jitter }), n + 1, chance)

        expect(Number.isInteger(jittered)).toBe(true)
        expect(jittered).toBeGreaterThanOrEqual(Math.floor(plain * (1 - jitter)))
        expect(jittered).toBeLessThanOrEqual(plain)
        expect(plain).toBeLessThanOrEqual(60_000)
      },
    )
    fc.assert(property)
  })
})

const ERROR = { name: 'E', message: 'no' }
const numbered = (count: number, name: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => name(n))
const anInvocation = (n: number) => invocationWorkerId(`${String(n).padStart(8, '0')}-4b1c-9d43`)

/** A task on which each of these workers has failed once, one after the other. */
function failedBy(workers: readonly string[], task: Task): Task {
  return workers.reduce((draft, worker) => withFailure(draft, worker, ERROR, NOW), task)
}

const patient = (maxRetries = 1_000, more = {}) =>
  aTask({ options: { concurrency: 100, retry: { scope: 'worker', maxRetries }, ...more } })

describe('failures counted by worker', () => {
  it('stay within bounds however many invocations fail, and count for the whole budget', () => {
    const failed = failedBy(numbered(1_000, anInvocation), patient())

    expect(Object.keys(failed.failuresBy)).toHaveLength(FAILING_WORKERS_MAX)
    expect(failed.failures).toBe(1_000)
    expect(failuresOf(failed, anInvocation(999))).toBe(1)
  })

  it('of a worker that may claim again are kept longer than the ones of invocations', () => {
    const failed = failedBy(['studio', ...numbered(1_000, anInvocation)], patient(0))

    expect(failuresOf(failed, 'studio')).toBe(1)
    expect(hasBudget(failed, 'studio')).toBe(false)
  })

  it('of an invocation with a live run of the task are kept', () => {
    const task = aTask({
      options: { concurrency: 100, retry: { scope: 'worker', maxRetries: 1_000 } },
      live: [aRun({ workerId: anInvocation(0) })],
    })

    const failed = failedBy(numbered(1_000, anInvocation), task)

    expect(failuresOf(failed, anInvocation(0))).toBe(1)
  })

  it('of the workers that have failed most are kept before the ones of workers that have failed less', () => {
    const often = Array.from({ length: 5 }, () => 'clumsy')

    const failed = failedBy([...often, ...numbered(1_000, n => `once${n}`)], patient())

    expect(failuresOf(failed, 'clumsy')).toBe(5)
    expect(Object.keys(failed.failuresBy)).toHaveLength(FAILING_WORKERS_MAX)
  })

  it('of listed workers are never dropped in favour of the ones of unlisted workers', () => {
    const listed = numbered(100, n => `w${n}`)
    const strangers = numbered(50, n => `was-listed-${n}`)
    const task = patient(1_000, { workerIds: listed })

    const failed = failedBy([...strangers, ...listed], task)

    expect(Object.keys(failed.failuresBy).sort()).toEqual(listed.toSorted())
  })
})
