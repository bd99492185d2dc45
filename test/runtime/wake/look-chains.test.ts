import { describe, expect, it } from 'vitest'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Look } from '../../../shared/ports/messages.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { planTasks } from '../../../shared/runtime/plan/plan.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { serveWakes } from '../../../shared/runtime/wake.ts'
import { changeOf, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, claimed, registered, stored, timed } from '../../support/worlds/memory-system.ts'

/** Two looks that send the next one, and those around them. */
const LOOKS_PER_MINUTE_MAX = 5

type Message = { readonly at: number; readonly look: Look; readonly id: string }

/** A running task and its queue of looks. The clock moves in steps of 100 ms, and the run sends a heartbeat every 5 s. */
async function aRunningTask() {
  const system = aMemorySystem()
  await registered(system)
  const task = await claimed(system, await stored(system))
  const queue: Message[] = []
  let sent = 0
  let beatAt = system.clock.now() + 5 * SECOND
  let isAlive = true
  const collect = () => {
    for (const look of system.messages.looks.splice(0)) {
      sent += 1
      queue.push({ at: system.clock.now() + look.delaySeconds * SECOND, look, id: `message-${sent}` })
    }
  }
  const serve = async (due: readonly Message[]) => {
    const received = due.map(({ id, look }) => ({
      messageId: id.slice(-8),
      wake: { kind: 'look', look } as const,
    }))
    await timed(system, serveWakes(system, received, system.clock.now() + 25 * SECOND))
    collect()
  }
  const beatInTime = async () => {
    if (!isAlive || system.clock.now() < beatAt) return
    beatAt += 5 * SECOND
    await beat(system, task)
  }
  const takeDue = () => {
    const due = queue.filter(({ at }) => at <= system.clock.now())
    for (const one of due) queue.splice(queue.indexOf(one), 1)
    return due
  }
  /** Lets time pass; returns how many looks were served. `double` says which messages SQS delivers twice. */
  const run = async (ms: number, double: (nth: number) => boolean = () => false) => {
    let served = 0
    for (const end = system.clock.now() + ms; system.clock.now() < end; await system.clock.advance(100)) {
      await beatInTime()
      for (const one of takeDue()) {
        served += 1
        await serve([one])
        if (double(served)) await serve([one])
      }
    }
    return served
  }
  const plan = async () => {
    await planTasks(system, [task])
    collect()
  }
  const die = () => {
    isAlive = false
  }
  return { system, task, queue, run, plan, collect, die }
}

async function beat(system: MemorySystem, { id, born }: Task): Promise<void> {
  const head = await readTask(system, id)
  await system.tasks.apply(changeOf(heartbeat(head, { born, fence: 1 }, system.clock.now())))
}

describe('the looks at a run', () => {
  it.each([1, 10])('are one chain again after the stream has shown its claim %i times more', async times => {
    const { run, plan, queue } = await aRunningTask()
    await plan()
    for (let nth = 0; nth < times; nth++) {
      await run(1_500)
      await plan()
    }

    await run(5 * MINUTE)
    const served = await run(25 * MINUTE)

    expect(queue).toHaveLength(1)
    expect(served / 25).toBeLessThan(LOOKS_PER_MINUTE_MAX)
  })

  it('stay few however often SQS delivers one of them twice', async () => {
    const { run, plan, queue } = await aRunningTask()
    await plan()

    await run(5 * MINUTE, nth => nth % 5 === 0)
    await run(5 * MINUTE)
    const served = await run(20 * MINUTE)

    expect(queue).toHaveLength(1)
    expect(served / 20).toBeLessThan(LOOKS_PER_MINUTE_MAX)
  })

  it('still find the run lost in time after they were doubled', async () => {
    const { run, plan, die, system, task } = await aRunningTask()
    for (let nth = 0; nth < 3; nth++) await plan()
    await run(10 * MINUTE)

    die()
    await run(17 * SECOND)

    expect((await readTask(system, task.id))?.operation).toBe('lose')
  })

  it('are started again by the sweeper when the waker died between its record and its next look', async () => {
    const { run, plan, queue, collect, die, system, task } = await aRunningTask()
    await plan()
    await run(5 * MINUTE)
    queue.splice(0)
    await run(MINUTE)
    die()
    await run(30 * SECOND)

    await sweep(system)
    collect()
    await run(SECOND)

    expect((await readTask(system, task.id))?.operation).toBe('lose')
  })

  it('cost no write within the first lease, and then one in eight', async () => {
    const { run, plan, system } = await aRunningTask()
    const recorded: number[] = []
    const { recordLook } = system.tasks
    Object.assign(system.tasks, {
      recordLook: (...args: Parameters<typeof recordLook>) => {
        recorded.push(args[1].hops)
        return recordLook(...args)
      },
    })
    await plan()

    const first = await run(15 * SECOND)
    const atFirst = recorded.length
    const served = await run(10 * MINUTE)

    expect([first, atFirst]).toEqual([0, 0])
    expect(recorded).toEqual(Array.from({ length: Math.ceil(served / 8) }, (_, nth) => 1 + 8 * nth))
  })
})
