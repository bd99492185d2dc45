import { expect, it } from 'vitest'
import { chain, chord, group } from '../../shared/define/canvases.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import { Fatal } from '../../shared/signals.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

const add = defineTask('add', {
  retry: { maxRetries: 0 },
  run: (numbers: unknown) => (numbers as number[]).reduce((sum, one) => sum + one, 0),
})
const told: unknown[] = []
const tell = defineTask('tell', { run: (_input, { previous }) => void told.push(previous) })

const aSystem = () => createTestSystem({ tasks: [add, tell] })

it('a chord hands the results of its members to its callback', async () => {
  const t = await aSystem()

  const { id } = await t.publish(
    chord([add.with([1, 2]), chain(add.with([3]), add.with([4]))], add.with([10])),
    {
      key: 'sum',
    },
  )
  await t.runUntilIdle()

  expect(await t.canvas(id)).toMatchObject({ status: 'succeeded', result: 20 })
  expect(t.tasks({ type: add, status: 'succeeded' })).toHaveLength(4)
})

it('a chord whose member fails runs its error callback', async () => {
  const t = await aSystem()
  t.fail(add, new Fatal('no such luck'))

  const { id } = await t.publish(
    chord([add.with([1]), add.with([2])], add.with([]), { onError: tell.with() }),
  )
  await t.runUntilIdle()

  expect(await t.canvas(id)).toMatchObject({ status: 'failed', error: { message: 'no such luck' } })
  expect(told).toMatchObject([{ error: { message: 'no such luck' } }])
})

it('a canvas is cancelled with its tasks', async () => {
  const t = await aSystem()
  const { id } = await t.publish(group([add.with([1]), add.with([2], { delayMs: 60_000 })]))

  await t.advance('1s')
  await t.cancelCanvas(id)
  await t.runUntilIdle()

  expect((await t.canvas(id)).items.map(({ status }) => status)).toEqual(['succeeded', 'cancelled'])
  await expect(t.cancelCanvas('canvas:none')).rejects.toThrow('there is no canvas canvas:none')
})
