import { expect, it } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { Fatal } from '../../shared/signals.ts'
import { createTestSystem } from '../../shared/testing/index.ts'

function anOrder(calls: string[] = []) {
  const task = (type: string) =>
    defineTask(type, {
      retry: { maxRetries: 1, delayMs: 1_000 },
      run: () => {
        calls.push(type)
        return { by: type }
      },
    })
  const order = defineFlow('order', {
    steps: [
      { name: 'reserve', do: task('reserve-stock'), undo: task('free-stock') },
      { name: 'charge', do: task('charge-card'), undo: task('refund-card') },
      { name: 'ship', do: task('ship-parcel') },
    ],
  })
  return { order, calls }
}

it('a flow runs its steps and shows their results', async () => {
  const { order } = anOrder()
  const t = await createTestSystem({ flows: [order] })

  await t.publish(order, { sku: 'a' }, { key: '1' })
  await t.runUntilIdle()

  const { status, steps, params } = t.task('order:1')
  expect(status).toBe('succeeded')
  expect(steps?.map(({ name, state }) => [name, state])).toEqual([
    ['reserve', 'succeeded'],
    ['charge', 'succeeded'],
    ['ship', 'succeeded'],
  ])
  expect(params).toMatchObject({ sku: 'a', reserve: { by: 'reserve-stock' } })
})

it('a saga with a failing step undoes its steps in reverse order', async () => {
  const { order, calls } = anOrder()
  const t = await createTestSystem({ flows: [order] })
  await t.publish(order, { sku: 'a' }, { key: '1' })

  t.fail('order:1', new Fatal('the parcel is too heavy'), { step: 'ship' })
  await t.runUntilIdle()

  expect(calls).toEqual(['reserve-stock', 'charge-card', 'refund-card', 'free-stock'])
  expect(t.task('order:1')).toMatchObject({ status: 'failed', error: { message: 'the parcel is too heavy' } })
  expect(t.task('order:1').steps?.map(({ state }) => state)).toEqual(['undone', 'undone', 'failed'])
})

it('an undo that fails for good halts the flow, and continues when an operator says so', async () => {
  const { order, calls } = anOrder()
  const t = await createTestSystem({ flows: [order] })
  await t.publish(order, { sku: 'a' }, { key: '1' })
  t.fail('charge-card', new Fatal('no money'))
  t.fail('order:1', 'the store is closed', { direction: 'undo', times: 2 })

  await t.runUntilIdle()
  const halted = t.task('order:1')
  await t.retry('order:1', { action: 'retry-undo' })
  await t.runUntilIdle()

  expect(halted).toMatchObject({ status: 'failed', needsAttention: true })
  expect(calls).toEqual(['reserve-stock', 'refund-card', 'free-stock'])
  expect(t.task('order:1').status).toBe('failed')
  expect(t.task('order:1').needsAttention).toBeUndefined()
})
