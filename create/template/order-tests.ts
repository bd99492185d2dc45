import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { createTestSystem, runTask } from 'baton-tasks/testing'
import { order } from '../flows/order.js'
import { charge } from '../tasks/order-payment.js'
import { freeStock, reserveStock } from '../tasks/order-stock.js'
import { welcome } from '../tasks/welcome.js'

const tasks = [reserveStock, freeStock, charge]

test('a customer is greeted by name', async () => {
  const { result } = await runTask(welcome, { name: 'Ada' })

  deepEqual(result, { greeting: 'Welcome, Ada!' })
})

test('an order is charged', async () => {
  const t = await createTestSystem({ tasks, flows: [order] })

  await t.publish(order, { sku: 'lamp', cents: 4_900 }, { key: '1' })
  await t.runUntilIdle()

  equal(t.task('order:1').status, 'succeeded')
})

test('a declined card gives the lamp back', async () => {
  const t = await createTestSystem({ tasks, flows: [order] })

  await t.publish(order, { sku: 'lamp', cents: 4_900_000 }, { key: '1' })
  await t.runUntilIdle()

  const { status, steps = [] } = t.task('order:1')
  equal(status, 'failed')
  deepEqual(
    steps.map(({ name, state }) => [name, state]),
    [
      ['reserve', 'undone'],
      ['charge', 'failed'],
    ],
  )
})
