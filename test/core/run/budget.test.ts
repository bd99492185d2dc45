import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type PartialOptions, resolveOptions } from '../../../shared/core/options/options.ts'
import { create } from '../../../shared/core/publish/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake/look.ts'
import { aPublication, changeIn, NOW, SECOND } from '../../support/tasks/a-task.ts'
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
