import { expect, it } from 'vitest'
import { aTask, BORN } from '../tasks/a-task.ts'
import { createMemoryFarTimers, createMemoryMessages } from './messages.ts'

it('messages in memory record what was sent, in order', async () => {
  const messages = createMemoryMessages()
  const dispatch = { task: aTask(), delaySeconds: 3 }
  const look = { id: 'resize:k1', born: BORN, revision: 1, hops: 0, delaySeconds: 16 }
  messages.backlogs.set('resize', 2)

  const failures = [...(await messages.dispatch([dispatch])), ...(await messages.look([look]))]
  await messages.lookAtMinute({ minute: 5, shard: 1 })

  expect(failures).toEqual([])
  expect(messages).toMatchObject({
    dispatches: [dispatch],
    looks: [look],
    minuteLooks: [{ minute: 5, shard: 1 }],
  })
  expect([await messages.backlog('resize'), await messages.backlog('other')]).toEqual([2, undefined])
})

it('far timers in memory keep each minute once', async () => {
  const timers = createMemoryFarTimers()

  await timers.ensureMinute(7)
  await timers.ensureMinute(7)

  expect([...timers.minutes]).toEqual([7])
})
