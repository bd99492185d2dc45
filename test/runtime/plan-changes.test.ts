import { describe, expect, it } from 'vitest'
import { BatonError } from '../../shared/core/errors.ts'
import { patch } from '../../shared/core/patch.ts'
import type { Task } from '../../shared/core/task.ts'
import { planChanges } from '../../shared/runtime/plan-changes.ts'
import type { PlanningSystem } from '../../shared/runtime/system.ts'
import { aTask, changeOf, HOUR, NOW } from '../support/a-task.ts'
import { aMemorySystem } from '../support/memory-system.ts'

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
    ['comes again at its newest position for a passing trouble', {}, unsent(true), ['p2'], ['warn']],
    ['is let go when its message is refused, which blocks nothing', {}, unsent(false), [], ['error']],
    [
      'comes again when its minute has no schedule, for an outage',
      far,
      withoutTimers(new BatonError('unavailable', 'no answer')),
      ['p0', 'p2'],
      ['warn', 'warn'],
    ],
    [
      'is let go when the schedule of its minute is refused',
      far,
      withoutTimers(new Error('no such group')),
      [],
      ['error', 'error'],
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

it('a head that cannot be planned is let go, and the rest of its batch is planned', async () => {
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

it('an outage in the midst of planning has the whole batch come again', async () => {
  const memory = aMemorySystem()
  const dispatch = () => Promise.reject(new BatonError('unavailable', 'no answer'))
  const system = { ...memory, messages: { ...memory.messages, dispatch } }

  await expect(planChanges(system, changesOf(aTask({ key: 'a' })))).rejects.toThrow('no answer')
})
