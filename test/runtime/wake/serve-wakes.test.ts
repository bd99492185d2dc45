import { expect, it } from 'vitest'
import { MINUTE_SHARDS } from '../../../shared/core/place/place.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { MinuteLook, Wake } from '../../../shared/ports/messages.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { serveWakes } from '../../../shared/runtime/wake.ts'
import { aTask, MINUTE, NOW } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

const LATER = NOW + MINUTE
const SOME_MINUTE = NOW / MINUTE + 60

/** The messages of a batch, as m0, m1 and so on. */
function receivedOf(...wakes: Wake[]) {
  return wakes.map((wake, index) => ({ messageId: `m${index}`, wake }))
}

function lookAt({ id, born, revision }: Task): Wake {
  return { kind: 'look', look: { id, born, revision, hops: 0, delaySeconds: 0 } }
}

function shard(number: number): Wake {
  return { kind: 'minute-shard', look: { minute: SOME_MINUTE, shard: number } }
}

it('looks and minutes of one batch are all served, and SQS delivers none again', async () => {
  const system = aMemorySystem()
  const task = await stored(system, { kind: 'http', ordering: 'priority', dueAt: NOW + 500 })
  const batch = receivedOf(lookAt(task), { kind: 'minute', minute: SOME_MINUTE }, shard(3))

  const serving = serveWakes(system, batch, LATER)
  await system.clock.advance(500)

  expect(await serving).toEqual([])
  expect(await system.tasks.head(task.id)).toMatchObject({ operation: 'surface' })
  expect(system.messages.minuteLooks).toHaveLength(MINUTE_SHARDS)
})

it('a minute that runs out of time continues in a new message, and its own message is done', async () => {
  const system = aMemorySystem()

  const again = await serveWakes(system, receivedOf(shard(3)), system.clock.now())

  expect(again).toEqual([])
  expect(system.messages.minuteLooks).toEqual([{ minute: SOME_MINUTE, shard: 3 }])
})

const unread = ({ tasks, ...system }: MemorySystem): System => ({
  ...system,
  tasks: {
    ...tasks,
    head: id => (id.endsWith(':bad') ? Promise.reject(new Error('no answer')) : tasks.head(id)),
    page: range =>
      range.partition.endsWith('3') ? Promise.reject(new Error('no answer')) : tasks.page(range),
  },
})

const unsent = ({ messages, ...system }: MemorySystem): System => ({
  ...system,
  messages: {
    ...messages,
    lookAtMinute: (look: MinuteLook) =>
      look.shard === 5 ? Promise.reject(new Error('no answer')) : messages.lookAtMinute(look),
  },
})

it.each([
  ['a look at a task that cannot be read', unread, ['m1', 'm2', 'm4']],
  ['a minute with a shard that was not sent', unsent, ['m3']],
] as const)('SQS delivers %s again, and nothing else of its batch', async (_name, broken, expected) => {
  const system = aMemorySystem()
  const [good, bad] = [aTask({ key: 'good' }), aTask({ key: 'bad' })]
  const minute: Wake = { kind: 'minute', minute: SOME_MINUTE }
  const batch = receivedOf(lookAt(good), lookAt(bad), lookAt(bad), minute, shard(3), shard(4))

  const again = await serveWakes(broken(system), batch, LATER)

  expect(again.sort()).toEqual(expected)
})

it.each([
  ['is delivered again when its next look could not be sent', true, ['m0']],
  ['is not delivered again when its next look is refused for good', false, []],
])('a look %s', async (_name, transient, expected) => {
  const system = aMemorySystem()
  const task = await stored(system, { dueAt: NOW + 10 * MINUTE, options: { deadlineMs: MINUTE } })
  const messages = { ...system.messages, look: async () => [{ index: 0, reason: 'not now', transient }] }

  const again = await serveWakes({ ...system, messages }, receivedOf(lookAt(task)), LATER)

  expect(again).toEqual(expected)
})
