import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { createCandidates, withTargets } from '../../../shared/runtime/claim/candidates.ts'
import { aTask } from '../../support/tasks/a-task.ts'

/** A task whose position in the claim order follows its key. */
const at = (key: string, workerIds: string[] = []): Task => ({
  ...aTask({ key, options: { workerIds } }),
  place: { name: 'ready#resize#0', order: key },
})
const keys = (tasks: readonly Task[]) => tasks.map(({ key }) => key).join('')

describe('the candidates of a claim', () => {
  it.each([
    ['ready tasks and targets in one order', 'ad', 'bc', true, 'abcd', ''],
    ['later targets with later ready tasks', 'ac', 'bd', true, 'abc', 'd'],
    ['the rest of the targets without ready tasks', '', 'bd', true, 'bd', ''],
    ['targets first, where several types take turns', 'ca', 'bd', false, 'bdca', ''],
    ['each task once, though a ticket names a ready one', 'ab', 'bac', true, 'ab', 'c'],
    ['each task once, where several types take turns', 'ab', 'ca', false, 'cab', ''],
  ])('are %s', (_case, ready, targets, isInOrder, next, later) => {
    const merged = withTargets(
      [...ready].map(key => at(key)),
      [...targets].map(key => at(key)),
      isInOrder,
    )

    expect([keys(merged.next), keys(merged.targets)]).toEqual([next, later])
  })

  it('are read when none is left; a new window starts them again, with the targets that were not tried', async () => {
    const reads: number[] = []
    const pages = [[at('a'), at('b', ['w1']), at('c')], [at('e')]]
    const ready = {
      next: async (count: number) => {
        reads.push(count)
        return pages.shift() ?? []
      },
      scatter: async (window: number) => window - 1,
      position: () => new Map(),
    }
    const candidates = createCandidates(ready, [], true)

    const first = await candidates.next(10)
    const found = await candidates.scatter(500)
    const others = [await candidates.next(10), await candidates.next(10), await candidates.next(0)]

    expect([first?.key, found]).toEqual(['a', 499])
    expect(others.map(task => task?.key)).toEqual(['b', 'e', undefined])
    expect(reads).toEqual([10, 10])
  })
})
