import { describe, expect, it } from 'vitest'
import { defineFlow } from '../../shared/define/flow/define-flow.ts'
import { definitionsIn } from '../../shared/worker/definitions-in.ts'
import { SECOND } from '../support/tasks/a-task.ts'
import { aDefinition, aWorkerWorld } from './a-worker-world.ts'

describe('a worker that is given flows', () => {
  it('serves the tasks of their steps, each type once', async () => {
    const resize = aDefinition(() => 'done')
    const undo = aDefinition(() => 'undone', 'shrink')
    const steps = [{ name: 'resize', do: resize, undo }]
    const world = aWorkerWorld({
      tasks: [defineFlow('one', { steps }), defineFlow('two', { steps }), resize],
    })
    const [task] = await world.dispatched(1)

    await world.system.clock.advance(1 * SECOND)

    const [presence] = await world.system.workers.list()
    expect(presence?.types).toEqual(['resize', 'shrink'])
    expect((await world.head(task!)).state).toBe('succeeded')
  })

  it('refuses two definitions of one type', () => {
    const flow = defineFlow('one', { steps: [{ name: 'resize', do: aDefinition(() => 1) }] })

    expect(() => aWorkerWorld({ tasks: [flow, aDefinition(() => 2)] })).toThrow(
      "two definitions of the type 'resize'",
    )
  })

  it('refuses flows without a task to serve', () => {
    const flow = defineFlow('one', { steps: [{ name: 'resize', do: 'resize' }] })

    expect(() => aWorkerWorld({ tasks: [flow] })).toThrow('at least one task')
  })
})

describe('a file that exports flows', () => {
  it('defines the tasks of their steps besides its own, each once', async () => {
    const types = async (file: string) => (await definitionsIn(file)).map(({ type }) => type)

    expect(await types('test/infra/fixtures/shop.ts')).toEqual(['reserve', 'charge'])
    expect(await types('test/infra/fixtures/order.ts')).toEqual(['resize'])
  })

  it('that exports neither flow nor task is refused', async () => {
    await expect(definitionsIn('test/infra/fixtures/no-task.ts')).rejects.toThrow('exports no task')
  })
})
