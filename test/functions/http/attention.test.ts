import { expect, it } from 'vitest'
import { aFlowApiPerTest } from '../../support/http/a-flow-api.ts'
import { published, type Shown } from '../../support/http/an-api.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { MINUTE, NOW } from '../../support/tasks/a-task.ts'

const api = aFlowApiPerTest()

const attention = async (): Promise<Shown> => (await api.call('GET', '/v1/attention')).body

it('a halted flow waits for an operator until it is resumed, and the action is recorded', async () => {
  await api.halted()

  expect(await attention()).toMatchObject({
    ...{ halted: [{ id: 'order:k', needsAttention: true }], haltedCount: 1 },
    ...{ deadLetters: [], moreDeadLetters: false, actions: [] },
  })
  await api.retry('retry-undo')
  await api.retry('skip-undo')

  expect(await attention()).toMatchObject({
    ...{ halted: [], haltedCount: 0 },
    actions: [{ at: new Date(NOW).toISOString(), by: 'anonymous', what: 'retry-undo', subject: 'order:k' }],
  })
})

it('messages that were given up are counted by their queues, and sending them again is recorded', async () => {
  const own = ['a', 'b'].map((messageId, nth) => aLetter({ messageId, arrivedAt: NOW - nth }))
  const stream = aLetter({ queue: 'stream', messageId: 's', subject: { kind: 'unreadable' } })
  for (const letter of [...own, stream]) await api.system.deadLetters.put(letter, '{}')

  const before = await attention()
  await api.call('POST', '/v1/dead-letters/replay', { queue: 'type:resize' })

  const lastAt = new Date(NOW).toISOString()
  expect(before.deadLetters).toEqual([
    { queue: 'type:resize', count: 2, replayable: 2, lastAt },
    { queue: 'stream', count: 1, replayable: 0, lastAt },
  ])
  expect(await attention()).toMatchObject({
    deadLetters: [{ queue: 'stream' }],
    actions: [{ what: 'replayDeadLetters', subject: 'type:resize' }],
  })
})

it('the last forty actions are kept, the newest first', async () => {
  const replay = (queue: string) => api.call('POST', '/v1/dead-letters/replay', { queue })
  for (let nth = 0; nth < 41; nth++) await replay('wake')
  await replay('jobs')

  const { actions } = await attention()

  expect(actions).toHaveLength(40)
  expect(actions[0]).toMatchObject({ what: 'replayDeadLetters', subject: 'jobs' })
})

it('counts say since when a task is ready, also behind tasks that run', async () => {
  await published(api, { key: 'runs' })
  await api.claim()
  await api.system.clock.advance(MINUTE)
  await published(api, { key: 'waits' })
  await api.system.clock.advance(MINUTE)

  const { items } = (await api.call('GET', '/v1/counts')).body

  expect(items.find(({ type }: Shown) => type === 'jobs')).toMatchObject({
    counts: { ready: 1, running: 1 },
    readySince: new Date(NOW + MINUTE).toISOString(),
  })
})
