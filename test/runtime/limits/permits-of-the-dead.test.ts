import { describe, expect, it } from 'vitest'
import { shardsOf } from '../../../shared/core/limits/limits.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { liveRuns, type Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { noteLine } from '../../../shared/runtime/limits/line.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import { aSystemWith, lookInSeries, PERMITS, storedAll } from '../../support/worlds/limited-system.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'

describe('a process that dies during a claim or an end', () => {
  const MAX = 20
  const succeed = (system: MemorySystem, { task, run }: Claimed) =>
    transact(system, task, current =>
      finish(current, { born: task.born, fence: run.fence, outcome: 'succeed' }, system.clock.now(), 0),
    )

  /** The call of a store at which a process dies: before the call has an effect, or after it (`isDone`). */
  type Death = { readonly call: number; readonly isDone: boolean }

  const dyingAt = (system: MemorySystem, { call: last, isDone }: Death) => {
    let calls = 0
    const mortal = <Store extends object>(store: Store): Store =>
      Object.fromEntries(
        Object.entries(store).map(([name, call]) => [
          name,
          async (...args: unknown[]) => {
            calls += 1
            if (calls > last || (calls === last && !isDone)) throw new Error('the process is dead')
            const answer = await call(...args)
            if (calls === last) throw new Error('the process is dead')
            return answer
          },
        ]),
      ) as Store
    const process = { ...system, tasks: mortal(system.tasks), limits: mortal(system.limits) }
    return { process, hasDied: () => calls >= last }
  }

  const permitsOfRuns = async (system: MemorySystem, tasks: readonly Task[]) => {
    const heads = await readTasks(
      system,
      tasks.map(({ id }) => id),
    )
    return heads
      .flatMap(head => liveRuns(head).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
      .sort()
  }

  const repair = async (system: MemorySystem, tasks: readonly Task[]) => {
    await system.clock.advance(11 * SECOND)
    await noteLine(system, PERMITS)
    await lookInSeries(system)
    const held = (await system.limits.permits('resize', shardsOf(MAX))).holders
      .map(({ holder }) => holder)
      .sort()
    expect(held).toEqual(await permitsOfRuns(system, tasks))
  }

  type Act = (process: MemorySystem, system: MemorySystem, task: Task) => Promise<() => Promise<unknown>>

  /** Acts in a process that dies at this call, and repairs what is left. `running` other tasks hold permits. Whether it died. */
  const diesAt = async (running: number, act: Act, death: Death): Promise<boolean> => {
    const system = await aSystemWith(MAX)
    const tasks = await storedAll(system, running + 1)
    for (const other of tasks.slice(1)) await claimTask(system, other, { workerId: 'w' })
    const { process, hasDied } = dyingAt(system, death)
    const acting = await act(process, system, tasks[0] as Task)
    await acting().catch(() => undefined)
    await repair(system, tasks)
    return hasDied()
  }

  const deathsOf = async (running: number, act: Act): Promise<number> => {
    let deaths = 0
    for (const isDone of [false, true]) {
      for (let call = 1; await diesAt(running, act, { call, isDone }); call++) deaths += 1
    }
    return deaths
  }

  it.each([
    ['its claim', 15, 6],
    ['its refused claim', MAX, 8],
  ])(
    'leaves exactly the permits of live runs after a look, wherever %s was cut',
    async (_what, running, deathsMin) => {
      const claiming: Act = async (process, _system, task) => () =>
        claimTask(process, task, { workerId: 'x' })

      expect(await deathsOf(running, claiming)).toBeGreaterThanOrEqual(deathsMin)
    },
  )

  it('leaves exactly the permits of live runs after a look, wherever the end of its run was cut', async () => {
    const deaths = await deathsOf(15, async (process, system, task) => {
      const claimed = await claimTask(system, task, { workerId: 'x' })
      if ('refused' in claimed) throw new Error(claimed.refused)
      return () => succeed(process, claimed)
    })

    expect(deaths).toBeGreaterThanOrEqual(4)
  })
})
