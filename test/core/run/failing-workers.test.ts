import { describe, expect, it } from 'vitest'
import { FAILING_WORKERS_MAX } from '../../../shared/core/bounds.ts'
import { withFailure } from '../../../shared/core/run/judge-budget.ts'
import { failuresOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { hasBudget, invocationWorkerId } from '../../../shared/core/worker.ts'
import { aRun, aTask, NOW } from '../../support/tasks/a-task.ts'

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

  it('of a worker that may claim again are kept longer than runs of invocations', () => {
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

  it('of the workers that have failed most are kept before the runs of workers that have failed less', () => {
    const often = Array.from({ length: 5 }, () => 'clumsy')

    const failed = failedBy([...often, ...numbered(1_000, n => `once${n}`)], patient())

    expect(failuresOf(failed, 'clumsy')).toBe(5)
    expect(Object.keys(failed.failuresBy)).toHaveLength(FAILING_WORKERS_MAX)
  })

  it('of listed workers are never dropped in favour of runs of unlisted workers', () => {
    const listed = numbered(100, n => `w${n}`)
    const strangers = numbered(50, n => `was-listed-${n}`)
    const task = patient(1_000, { workerIds: listed })

    const failed = failedBy([...strangers, ...listed], task)

    expect(Object.keys(failed.failuresBy).sort()).toEqual(listed.toSorted())
  })
})
