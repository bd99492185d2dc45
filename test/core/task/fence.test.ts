import { describe, expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import { restart } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { FENCE_EPOCH_MS, fencePassedAt, firstFence } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { afterOf, aPublication, DAY, LATER_BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'

const LATER = NOW + 300 * DAY
const published = (now: number, remains?: Task) =>
  create(aPublication({ dueAt: now, options: { retentionMs: 0 } }), remains, now).after
const claimed = (task: Task, now: number) => afterOf(claim(task, { workerId: 'w1' }, now))

/** A task that was claimed this often within one second and then succeeded. */
function ended(task: Task, claims: number, now: number): Task {
  let current = task
  for (let nth = 0; nth < claims; nth++) {
    const run = claimed(current, now)
    const outcome = nth < claims - 1 ? 'release' : 'succeed'
    current = afterOf(finish(run, { born: run.born, fence: run.fence, outcome }, now, 0))
  }
  return current
}

describe('the fences of a key', () => {
  it('grow when the task has expired and its head is deleted', () => {
    const former = ended(published(LATER), 3, LATER)
    const again = claimed(published(LATER + 10 * SECOND), LATER + 10 * SECOND)

    expect(again.fence).toBeGreaterThan(former.fence)
  })

  it('grow even after more than one claim a second: the head then stays as long as needed', () => {
    const former = ended(published(LATER), 500, LATER)
    const { ttl = 0 } = headItem(former)

    const again = published(ttl * SECOND)

    expect(ttl * SECOND).toBeGreaterThan(LATER + 500 * SECOND)
    expect(again.fence).toBeGreaterThan(former.fence)
  })

  it('count on from the remains of the task, or from the present if that is further', () => {
    const many = ended(published(LATER), 100, LATER)
    const few = ended(published(NOW), 1, NOW)
    const how = {
      publication: aPublication({ born: LATER_BORN }),
      clean: ['succeeded'] as const,
      keepInput: true,
    }

    expect(published(LATER + SECOND, many).fence).toBe(many.fence)
    expect(published(LATER, few).fence).toBe(firstFence(LATER))
    expect(afterOf(restart(few, how, LATER)).fence).toBe(firstFence(LATER))
  })

  it('fit into a signed integer of 32 bits until 2094, and new publications begin beyond them in time', () => {
    expect(firstFence(Date.UTC(2094, 0, 1))).toBeLessThan(2 ** 31)
    for (const fence of [0, 1, 27_000_000]) {
      expect(firstFence(fencePassedAt(fence))).toBeGreaterThan(fence)
      expect(fencePassedAt(fence)).toBeLessThan(FENCE_EPOCH_MS + (fence + 120) * SECOND)
    }
  })
})
