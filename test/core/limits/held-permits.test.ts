import { describe, expect, it } from 'vitest'
import { isBeingClaimed } from '../../../shared/core/limits/held-permits.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

const task = { ...aTask(), updatedAt: NOW }
const ofOther = { holder: 'h', taskId: 'resize:other', since: NOW }
const ofTask = { holder: 'h', taskId: task.id, since: NOW }

describe('a task whose claim has found all permits held', () => {
  it.each([
    ['is not being claimed, when runs of other tasks hold them', ofOther, 0, false],
    ['is being claimed, when another worker has just taken a permit for it', ofTask, 9, true],
    ['is not, ten seconds after another worker took a permit for it', ofTask, 10, false],
    ['is not, when the permit for it is older than its head', { ...ofTask, since: NOW - 1 }, 1, false],
  ] as const)('%s', (_case, holder, afterS, expected) => {
    expect(isBeingClaimed(task, { holders: [holder] }, NOW + afterS * SECOND)).toBe(expected)
  })
})
