import { describe, expect, it } from 'vitest'
import type { EndedHookedRun, Failure, HookedRun } from '../../shared/worker/hooks.ts'
import { SECOND } from '../support/tasks/a-task.ts'
import { aMemorySystem } from '../support/worlds/memory-system.ts'
import { aDefinition, aWorkerWorld, ended } from './a-worker-world.ts'

describe('hooks', () => {
  it('surround each run, with its task and its run', async () => {
    const seen: Array<[string, HookedRun | EndedHookedRun]> = []
    const order: string[] = []
    const world = aWorkerWorld({
      tasks: [aDefinition(() => void order.push('handler'))],
      beforeRun: run => {
        seen.push(['before', run])
        order.push('before')
      },
      afterRun: run => {
        seen.push(['after', run])
        order.push('after')
      },
    })
    await world.dispatched(1)

    await world.system.clock.advance(1 * SECOND)

    expect(order).toEqual(['before', 'handler', 'after'])
    expect(seen).toMatchObject([
      ['before', { task: { id: 'resize:k1' }, run: { fence: 1, workerId: 'w1' } }],
      ['after', { task: { id: 'resize:k1' }, run: { fence: 1 }, outcome: 'succeed' }],
    ])
    await ended(world)
  })

  it('may take long: the handler waits, and the run keeps its lease', async () => {
    const system = aMemorySystem()
    let startedAt = 0
    const world = aWorkerWorld(
      {
        tasks: [
          aDefinition(() => {
            startedAt = system.clock.now()
          }),
        ],
        beforeRun: () => system.clock.sleep(40 * SECOND),
      },
      system,
    )
    const [task] = await world.dispatched(1)

    await system.clock.advance(60 * SECOND)

    expect(startedAt - task!.dueAt).toBeGreaterThanOrEqual(40 * SECOND)
    expect(await world.head(task!)).toMatchObject({ state: 'succeeded', fence: 1, failures: 0 })
    await ended(world)
  })

  it('get every failure, with the error as it is stored', async () => {
    const failures: Failure[] = []
    const outcomes: string[] = []
    const world = aWorkerWorld({
      tasks: [
        aDefinition(() => {
          throw new RangeError('too far')
        }),
      ],
      afterRun: ({ outcome }) => outcomes.push(outcome),
      onError: failure => failures.push(failure),
    })
    await world.dispatched(3)

    await world.system.clock.advance(1 * SECOND)

    expect(outcomes).toEqual(['fail', 'fail', 'fail'])
    expect(failures).toHaveLength(3)
    expect(failures[0]).toMatchObject({
      error: { name: 'RangeError', message: 'too far' },
      task: { id: 'resize:k1' },
      run: { fence: 1 },
    })
    await ended(world)
  })

  it('that throw are logged, and runs and worker go on', async () => {
    const lines: string[] = []
    const system = aMemorySystem()
    const logging = { ...system, log: { ...system.log, error: (message: string) => lines.push(message) } }
    const blow = (name: string) => () => {
      throw new Error(name)
    }
    const world = aWorkerWorld(
      {
        tasks: [aDefinition(() => 'done'), aDefinition(blow('handler'), 'fails')],
        beforeRun: blow('before'),
        afterRun: async () => blow('after')(),
        onError: blow('error'),
      },
      logging,
    )
    const [task] = await world.dispatched(1)
    await world.dispatched(1, { type: 'fails' })

    await system.clock.advance(1 * SECOND)

    expect((await world.head(task!)).state).toBe('succeeded')
    expect(lines.sort()).toEqual([
      'the hook afterRun threw',
      'the hook afterRun threw',
      'the hook beforeRun threw',
      'the hook beforeRun threw',
      'the hook onError threw',
    ])
    expect(world.worker.running()).toBe(0)
    await ended(world)
  })
})
