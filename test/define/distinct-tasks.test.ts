import { expect, it } from 'vitest'
import { defineTask } from '../../shared/define/define-task.ts'
import { distinctTasks } from '../../shared/define/definitions.ts'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'

const one = defineTask('one', { run: () => 1 })
const two = defineTask('two', { run: () => 2 })
const flow = (type: string) => defineFlow(type, { steps: [{ name: 'a', do: one, undo: two }] })

it('each task is returned once, whether flows name it or not', () => {
  expect(distinctTasks([flow('f'), one, flow('g'), one])).toEqual([one, two])
})

it('two definitions of one type are refused, also when one comes from a flow', () => {
  const other = defineTask('two', { run: () => 3 })

  expect(() => distinctTasks([flow('f'), other])).toThrow("two definitions of the type 'two'")
})
