import { describe, expect, it } from 'vitest'
import { patch } from '../../../shared/core/operate/patch.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { aTask, changeOf, HOUR, NOW } from '../../support/tasks/a-task.ts'
import { aMemorySystem } from '../../support/worlds/memory-system.ts'

/** The changes of a batch, at the positions p0, p1 and so on. */
function changesOf(...tasks: Task[]) {
  return tasks.map((task, index) => ({ task, position: `p${index}` }))
}

it('of several changes of one task only the newest is planned', async () => {
  const system = aMemorySystem()
  const [first, other] = [aTask({ key: 'a' }), aTask({ key: 'b' })]
  const second = changeOf(patch(first, { priority: 7 }, NOW)).after

  const again = await planChanges(system, changesOf(first, other, second))

  const sent = system.messages.dispatches.map(({ task }) => [task.key, task.revision, task.priority])
  expect(sent).toEqual([
    ['a', second.revision, 7],
    ['b', other.revision, 0],
  ])
  expect(again).toEqual([])
})

describe('what is not planned', () => {
  const far = { dueAt: NOW + HOUR }
  const unsent = (transient: boolean) => (system: PlanningSystem) => ({
    ...system,
    messages: { ...system.messages, dispatch: async () => [{ index: 1, reason: 'not now', transient }] },
  })
  const withoutTimers = (error: Error) => (system: PlanningSystem) => ({
    ...system,
    timers: { ensureMinute: () => Promise.reject(error) },
  })

  it.each([
    [
      'is delivered again from its newest position when the failure may pass',
      {},
      unsent(true),
      ['p2'],
      ['warn'],
    ],
    ['is passed over when its message is refused, which blocks nothing', {}, unsent(false), [], ['error']],
    [
      'is left to the sweeper when its minute has no schedule, for an outage',
      far,
      withoutTimers(new BatonError('unavailable', 'no answer')),
      [],
      ['warn'],
    ],
    [
      'is left to the sweeper when the schedule of its minute is refused',
      far,
      withoutTimers(new Error('no such group')),
      [],
      ['warn'],
    ],
  ])('%s', async (_name, parts, broken, positions, levels) => {
    const logged: string[] = []
    const memory = aMemorySystem()
    const log = { ...memory.log, warn: () => logged.push('warn'), error: () => logged.push('error') }
    const [good, bad] = [aTask({ ...parts, key: 'good' }), aTask({ ...parts, key: 'bad' })]

    const again = await planChanges(broken({ ...memory, log }), changesOf(good, bad, bad))

    expect(again).toEqual(positions)
    expect(logged).toEqual(levels)
  })
})

it('a head that cannot be planned is skipped, and the rest of its batch is planned', async () => {
  const logged: unknown[] = []
  const memory = aMemorySystem()
  const system = {
    ...memory,
    log: { ...memory.log, error: (_text: string, fields: object = {}) => logged.push(fields) },
  }
  const poison = { ...aTask({ key: 'poison' }), options: undefined } as unknown as Task
  const positions = await planChanges(system, changesOf(aTask({ key: 'a' }), poison, aTask({ key: 'b' })))

  expect(positions).toEqual([])
  expect(system.messages.dispatches.map(({ task }) => task.key)).toEqual(['a', 'b'])
  expect(logged).toContainEqual(expect.objectContaining({ id: 'resize:poison', transient: false }))
})

it('an outage during planning makes Lambda deliver the whole batch again', async () => {
  const memory = aMemorySystem()
  const dispatch = () => Promise.reject(new BatonError('unavailable', 'no answer'))
  const system = { ...memory, messages: { ...memory.messages, dispatch } }

  await expect(planChanges(system, changesOf(aTask({ key: 'a' })))).rejects.toThrow('no answer')
})

describe('a second delivery of a batch', () => {
  /**
   * The event source mapping of Lambda: it delivers the batch again from the first failed position, a bounded
   * number of times.
   */
  async function delivered(system: PlanningSystem, tasks: readonly Task[], most: number): Promise<number> {
    let batch = changesOf(...tasks)
    let deliveries = 0
    for (; batch.length > 0 && deliveries < most; deliveries += 1) {
      const failed = await planChanges(system, batch)
      const first = batch.findIndex(({ position }) => failed.includes(position))
      batch = first < 0 ? [] : batch.slice(first)
    }
    return deliveries
  }

  it('is not needed when the EventBridge schedule of one far task cannot be created, and every other task is dispatched once', async () => {
    const system = aMemorySystem()
    const tasks = Array.from({ length: 99 }, (_, nth) => aTask({ key: `k${nth}` }))
    const ensureMinute = () => Promise.reject(new BatonError('unavailable', 'no answer'))

    const deliveries = await delivered(
      { ...system, timers: { ensureMinute } },
      [aTask({ key: 'far', dueAt: NOW + HOUR }), ...tasks],
      11,
    )

    expect([deliveries, system.messages.dispatches.length]).toEqual([1, 99])
    expect(system.counted('UnscheduledMinute')).toBe(1)
  })

  it('sends the messages of no other task again while one message fails', async () => {
    const system = aMemorySystem()
    const sent: string[] = []
    let outages = 3
    const dispatch: typeof system.messages.dispatch = async dispatches => {
      const index = dispatches.findIndex(({ task }) => task.key === 'k0')
      const isFailing = index >= 0 && outages-- > 0
      sent.push(...dispatches.filter((_, nth) => !isFailing || nth !== index).map(({ task }) => task.key))
      return isFailing ? [{ index, reason: 'no answer', transient: true }] : []
    }
    const tasks = Array.from({ length: 100 }, (_, nth) => aTask({ key: `k${nth}` }))

    const deliveries = await delivered({ ...system, messages: { ...system.messages, dispatch } }, tasks, 11)

    expect(deliveries).toBe(4)
    expect(sent.toSorted()).toEqual(tasks.map(({ key }) => key).toSorted())
  })
})
