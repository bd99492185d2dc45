import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { claimOrder } from '../../../shared/core/place/claim-order.ts'
import type { Ordering } from '../../../shared/core/states.ts'
import { BORN, HOUR, LATER_BORN, NOW } from '../../support/tasks/a-task.ts'

type Waiting = { priority: number; dueAt: number }

/** Compares two tasks: the result is negative when `a` must be claimed before `b`. */
const INTENDED: Record<Ordering, (a: Waiting, b: Waiting) => number> = {
  arrival: (a, b) => a.dueAt - b.dueAt,
  priority: (a, b) => b.priority - a.priority || a.dueAt - b.dueAt,
  aged: (a, b) => a.dueAt - a.priority * 1_000 - (b.dueAt - b.priority * 1_000),
}

describe('the claim order', () => {
  it.each<[Ordering, Waiting[]]>([
    [
      'arrival',
      [
        { dueAt: 5, priority: 0 },
        { dueAt: 6, priority: 9 },
      ],
    ],
    [
      'priority',
      [
        { dueAt: 9, priority: 10 },
        { dueAt: 5, priority: 9 },
        { dueAt: 6, priority: 9 },
        { dueAt: 0, priority: 0 },
        { dueAt: 0, priority: -1 },
        { dueAt: 0, priority: -10 },
      ],
    ],
    [
      'aged',
      [
        { dueAt: NOW, priority: 10 },
        { dueAt: NOW - 9_999, priority: 0 },
        { dueAt: NOW, priority: 0 },
        { dueAt: NOW, priority: -10 },
      ],
    ],
  ])('by %s is as listed', (ordering, tasks) => {
    const orders = tasks.map(task => claimOrder({ born: BORN, ordering, ...task }))

    expect(orders.toSorted()).toEqual(orders)
    expect(new Set(orders).size).toBe(tasks.length)
  })

  it.each(['arrival', 'priority', 'aged'] as const)('by %s as text equals the intended order', ordering => {
    const waiting = fc.record({
      priority: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -(10 ** 9), max: 10 ** 9 })),
      dueAt: fc.oneof(
        fc.integer({ min: NOW - 5, max: NOW + 5 }),
        fc.integer({ min: 0, max: NOW + 3_653 * 24 * HOUR }),
      ),
    })

    const property = fc.property(waiting, waiting, (a, b) => {
      const [first, second] = [
        claimOrder({ born: BORN, ordering, ...a }),
        claimOrder({ born: BORN, ordering, ...b }),
      ]
      const asText = first < second ? -1 : first > second ? 1 : 0
      expect(asText).toBe(Math.sign(INTENDED[ordering](a, b)))
    })
    fc.assert(property)
  })

  it.each(['arrival', 'priority', 'aged'] as const)(
    'by %s holds at the smallest and largest numbers',
    ordering => {
      const priorities = [Number.MAX_SAFE_INTEGER, 1, 0, -1, Number.MIN_SAFE_INTEGER]

      const orders = priorities.map(priority => claimOrder({ born: BORN, ordering, priority, dueAt: NOW }))

      expect(orders.toSorted()).toEqual(orders)
    },
  )

  it.each(['arrival', 'priority', 'aged'] as const)(
    'by %s falls back on the order of arrival, and positions stored by an earlier version come first',
    ordering => {
      const at = { ordering, priority: 5, dueAt: NOW }
      const [first, second] = [BORN, LATER_BORN].map(born => claimOrder({ ...at, born })) as [string, string]
      const stored = first.slice(0, -BORN.length - 1)
      const next = claimOrder({ ...at, born: BORN, dueAt: NOW + 1 })

      expect([next, second, first, stored].toSorted()).toEqual([stored, first, second, next])
    },
  )
})
