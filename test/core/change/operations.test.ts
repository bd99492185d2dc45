import { describe, expect, test } from 'vitest'
import { headItem, taskFromItem } from '../../../shared/aws/dynamo/head/items.ts'
import { OPERATIONS_KEPT_MAX, PRINCIPAL_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { withOperation } from '../../../shared/core/change/operations.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import type { OperationRecord } from '../../../shared/core/task/head-fields.ts'
import { aTask, changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'

const alice = { by: 'local:alice' }
const records = (count: number, by = (nth: number) => `p${nth}`): OperationRecord[] =>
  Array.from({ length: count }, (_, nth) => ({ at: NOW + nth, by: by(nth), what: 'patch' }))

describe('a change that a person asked for', () => {
  test('is noted with when, by whom and what it was, after those before it', () => {
    const task = aTask({ operations: records(1) })

    const { after } = withOperation(changeOf(cancel(task, NOW)), alice, NOW + SECOND)

    expect(after.operations).toEqual([...records(1), { at: NOW + SECOND, by: 'local:alice', what: 'cancel' }])
  })

  test('pushes the oldest out once ten are kept', () => {
    const task = aTask({ operations: records(OPERATIONS_KEPT_MAX) })

    const { after } = withOperation(changeOf(cancel(task, NOW)), { ...alice, what: 'stop' }, NOW)

    expect(after.operations).toHaveLength(OPERATIONS_KEPT_MAX)
    expect(after.operations?.[0]).toEqual(records(2)[1])
    expect(after.operations?.at(-1)).toMatchObject({ what: 'stop' })
  })

  test('is the only one that is noted: what else a request writes is not', () => {
    const change = changeOf(cancel(aTask(), NOW))
    const claimed = { ...change, after: { ...change.after, operation: 'claim' as const } }

    expect(withOperation(claimed, alice, NOW)).toBe(claimed)
  })
})

describe('the head of a task', () => {
  test.each([1, 2, OPERATIONS_KEPT_MAX])('gives back %s records as they were', count => {
    const task = aTask({ operations: records(count, nth => `arn:${nth % 2}`) })

    expect(taskFromItem(headItem(task)).operations).toEqual(task.operations)
  })

  test('names each principal once: ten changes by one of them take less than 450 bytes', () => {
    const principal = 'x'.repeat(PRINCIPAL_CHARACTERS_MAX)

    const { ops = '' } = headItem(aTask({ operations: records(OPERATIONS_KEPT_MAX, () => principal) }))

    expect(Buffer.byteLength(ops)).toBeLessThan(450)
    expect(headItem(aTask())).not.toHaveProperty('ops')
  })
})
