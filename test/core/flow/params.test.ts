import { expect, it } from 'vitest'
import { PARAMS_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { roomForResult } from '../../../shared/core/flow/flow.ts'
import { aTask } from '../../support/tasks/a-task.ts'
import { aFlowTask, done } from '../../support/tasks/flow-life.ts'

it('input and results leave less room for the next result, in the head or apart', () => {
  const published = aFlowTask(undefined, { input: { sku: 'x'.repeat(1_000) } })
  const inHead = done(published, 'x'.repeat(98))
  const apart = done(inHead, 'x'.repeat(9_998))

  expect(roomForResult(published)).toBe(PARAMS_BYTES_MAX - 1_010)
  expect(roomForResult(inHead)).toBe(PARAMS_BYTES_MAX - 1_010 - 100)
  expect(roomForResult(apart)).toBe(PARAMS_BYTES_MAX - 1_010 - 100 - 10_000)
})

it('only flows bound the room for a result', () => {
  expect(roomForResult(aTask())).toBeUndefined()
})
