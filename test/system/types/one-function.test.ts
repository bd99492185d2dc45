import { expect, it } from 'vitest'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const system = aLocalSystem()

it('One function serves several types, each from its own queue with its own definition', async () => {
  const inputs = { add: [2, 3], multiply: [2, 3], note: ['hello'] }
  const published = Object.entries(inputs).map(([type, input]) => system.publish({ type, key: 'one', input }))
  await Promise.all(published)

  const ended = await Promise.all(
    Object.keys(inputs).map(type =>
      system.answerWhen(`/v1/tasks/${type}:one`, ({ status }) => status === 'succeeded'),
    ),
  )

  expect(ended.map(({ type, result }) => [type, result])).toEqual([
    ['add', 5],
    ['multiply', 6],
    ['note', { words: ['hello'], previous: null }],
  ])
})
