import { expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { aRun, aTask, DAY, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, claimed, registered, stored } from '../../support/worlds/memory-system.ts'

const LATER = { dueAt: NOW + 10 * DAY }

/** A system whose queue is empty, with this head. */
async function aSystemWith(task: Task) {
  const system = aMemorySystem()
  await registered(system)
  system.messages.backlogs.set('resize', 0)
  await system.tasks.apply({ before: undefined, after: task, guard: { kind: 'absent' }, bodies: [] })
  return system
}

it.each<[string, Task]>([
  ['a deadline that passes before the due time', aTask({ ...LATER, deadlineAt: NOW + 5 * MINUTE })],
  [
    'a deadline that passes while a far minute waits for the due time, in a type that is taken in order',
    aTask({ ...LATER, kind: 'http', ordering: 'priority', deadlineAt: NOW + 5 * MINUTE }),
  ],
  [
    'the dead run of one worker while the task waits for another worker until a later time',
    aTask({ ...LATER, options: { concurrency: 2 }, live: [aRun()] }),
  ],
  ['the dead run of a task that was put off while it ran', aTask({ ...LATER, live: [aRun()] })],
])('a round finds %s, though its look was lost', async (_name, task) => {
  const system = await aSystemWith(task)
  await system.clock.advance(6 * MINUTE)

  await sweep(system)

  expect(system.messages.looks.map(({ id }) => id)).toEqual([task.id])
})

it('a round publishes the callbacks of a task that failed before it was due', async () => {
  const callbacks = {
    body: { inline: { onError: [{ type: 'resize', key: 'rang' }] } },
    onSuccess: 0,
    onError: 1,
  }
  const failed = { state: 'failed' as const, finishedAt: NOW, owes: true as const, callbacks }
  const system = await aSystemWith(aTask({ ...LATER, ...failed }))
  await system.clock.advance(MINUTE)

  await sweep(system)

  expect((await readTask(system, 'resize:rang'))?.state).toBe('open')
  expect(await readTask(system, 'resize:k1')).not.toHaveProperty('owes')
})

it('a claim, also of a retry, leaves the entry in view where it is', async () => {
  const system = aMemorySystem()
  const first = await claimed(system, await stored(system))
  const retry = { ...first, live: {}, dueAt: NOW + MINUTE, startedAt: NOW, key: 'again', id: 'resize:again' }
  const waiting = await aSystemWith(aTask({ ...retry, live: [], ended: [], options: {} }))
  await waiting.clock.advance(MINUTE)
  const stood = await readTask(waiting, 'resize:again')
  if (!stood) throw new Error('the task is stored')

  const again = await claimed(waiting, stood)

  expect([first.view?.sort, again.view]).toEqual([NOW, stood.view])
})

it.each([
  [4 * DAY - 30 * SECOND, 0],
  [4 * DAY + 30 * SECOND, 1],
  [4 * DAY + 90 * SECOND, 0],
  [6 * DAY, 0],
  [8 * DAY + 30 * SECOND, 1],
  [8 * DAY + 90 * SECOND, 0],
])(
  'a task behind messages that no worker takes is sent once in the life of a message, not in every round: after %d ms',
  async (age, sent) => {
    const system = await aSystemWith(aTask())
    system.messages.backlogs.set('resize', 1)
    await system.clock.advance(age)

    await sweep({ ...system, chance: { ...system.chance, fraction: () => 0.01 } })

    expect(system.messages.dispatches).toHaveLength(sent)
  },
)

it('looks that no waker serves for days are sent less and less often', async () => {
  const system = await aSystemWith(aTask({ live: [aRun()] }))
  const sentAt = async (ms: number, chance: number) => {
    await system.clock.advance(NOW + ms - system.clock.now())
    const before = system.messages.looks.length
    await sweep({ ...system, chance: { ...system.chance, fraction: () => chance } })
    return system.messages.looks.length - before
  }

  const sent = [await sentAt(9 * MINUTE, 0.99), await sentAt(DAY, 0.11), await sentAt(2 * DAY, 0.09)]

  expect(sent).toEqual([1, 0, 1])
})
