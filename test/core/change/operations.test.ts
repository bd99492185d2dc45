import { describe, expect, it } from 'vitest'
import { headItem, taskFromItem } from '../../../shared/aws/dynamo/head/items.ts'
import { OPERATIONS_KEPT_MAX, PRINCIPAL_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { withOperation } from '../../../shared/core/change.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import type { OperationRecord } from '../../../shared/core/task/head-fields.ts'
import { aTask, changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'

const alice = { by: 'local:alice' }
const records = (count: number, by = (nth: number) => `p${nth}`): OperationRecord[] =>
  Array.from({ length: count }, (_, nth) => ({ at: NOW + nth, by: by(nth), what: 'patch' }))

describe('a change that a caller asks for', () => {
  it('is recorded with its time, its principal and its name, after earlier changes', () => {
    const task = aTask({ operations: records(1) })

    const { after } = withOperation(changeOf(cancel(task, NOW)), alice, NOW + SECOND)

    expect(after.operations).toEqual([...records(1), { at: NOW + SECOND, by: 'local:alice', what: 'cancel' }])
  })

  it('drops the oldest record when ten are kept', () => {
    const task = aTask({ operations: records(OPERATIONS_KEPT_MAX) })

    const { after } = withOperation(changeOf(cancel(task, NOW)), { ...alice, what: 'stop' }, NOW)

    expect(after.operations).toHaveLength(OPERATIONS_KEPT_MAX)
    expect(after.operations?.[0]).toEqual(records(2)[1])
    expect(after.operations?.at(-1)).toMatchObject({ what: 'stop' })
  })

  it('is recorded alone: other writes of the request are not recorded', () => {
    const change = changeOf(cancel(aTask(), NOW))
    const claimed = { ...change, after: { ...change.after, operation: 'claim' as const } }

    expect(withOperation(claimed, alice, NOW)).toBe(claimed)
  })
})

describe('the head of a task', () => {
  it.each([1, 2, OPERATIONS_KEPT_MAX])('returns %s records unchanged', count => {
    const task = aTask({ operations: records(count, nth => `arn:${nth % 2}`) })

    expect(taskFromItem(headItem(task)).operations).toEqual(task.operations)
  })

  it('names each principal once: ten changes by one of them take less than 450 bytes', () => {
    const principal = 'x'.repeat(PRINCIPAL_CHARACTERS_MAX)

    const { ops = '' } = headItem(aTask({ operations: records(OPERATIONS_KEPT_MAX, () => principal) }))

    expect(Buffer.byteLength(ops)).toBeLessThan(450)
    expect(headItem(aTask())).not.toHaveProperty('ops')
  })
})
