import { describe, expect, it } from 'vitest'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { RateLimit, TypeLimits } from '../../../shared/core/types/task-type.ts'
import { claimTask, type NotClaimed } from '../../../shared/runtime/claim/claim.ts'
import { claimByTickets } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import { claimTargets } from '../../../shared/runtime/claim/claim-targets.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { reserveStart } from '../../../shared/runtime/limits/start.ts'
import { sendMessages } from '../../../shared/runtime/plan/plan.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, registered, stored, timed } from '../../support/worlds/memory-system.ts'

const CLAIMER = { workerId: 'w1' }

async function aLimited(limits: TypeLimits, more: object = {}) {
  const system = aMemorySystem()
  const type = await registered(system, {
    configuration: { kind: 'handler', defaults: {}, shards: 1, limits, ...more },
  })
  return { system, type }
}

function claim(system: MemorySystem, task: Task, workerId = 'w1', on: System = system) {
  return timed(system, claimTask(on, task, { workerId }))
}

async function headOf(system: System, { id }: Task): Promise<Task> {
  const task = await readTask(system, id)
  if (!task) throw new Error(`no ${id}`)
  return task
}

/** Runs the task and releases its permits. */
async function ran(system: MemorySystem, task: Task): Promise<void> {
  const claimed = await claim(system, task)
  if ('refused' in claimed) throw new Error(`not run: ${claimed.refused}`)
  const word = { born: task.born, fence: claimed.run.fence, outcome: 'succeed' as const }
  await transact(system, claimed.task, current => finish(current, word, system.clock.now(), 0))
}

/** The same system, which counts how often a permit was asked for. */
function countingPermits(system: System) {
  let asked = 0
  const acquire: System['limits']['acquire'] = (...permit) => {
    asked += 1
    return system.limits.acquire(...permit)
  }
  return { system: { ...system, limits: { ...system.limits, acquire } }, asked: () => asked }
}

const refusalOf = (outcome: Claimed | NotClaimed) => ('refused' in outcome ? outcome.refused : undefined)

describe('a slot', () => {
  it('that lies ahead is kept by a worker that claims its task before that time', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: SECOND } })
    const tasks: Task[] = []
    for (let nth = 0; nth < 6; nth++) {
      tasks.push(await stored(system, { key: `k${nth}`, options: { workerIds: ['w1'] } }))
    }
    await sendMessages(system, tasks)
    const claimed: Claimed[] = []

    for (let round = 0; round < 12; round++) {
      claimed.push(...(await timed(system, claimTargets(system, CLAIMER, ['resize'], 10))))
      await system.clock.advance(500)
    }

    expect(claimed.map(({ task }) => task.key).sort()).toEqual(['k0', 'k1', 'k2', 'k3', 'k4', 'k5'])
  })

  it('is granted to one of several workers that keep asking for a task that may run alone', async () => {
    const { system } = await aLimited({ concurrency: { max: 1 }, rate: { limit: 1, perMs: 10 * SECOND } })
    const first = await stored(system, { key: 'first' })
    const both = await stored(system, { key: 'both', options: { workerIds: ['w1', 'w2'] } })
    await sendMessages(system, [both])
    await ran(system, first)
    let isOver = false
    const claimed: Claimed[] = []
    const poll = async (workerId: string) => {
      while (!isOver) {
        claimed.push(...(await claimTargets(system, { workerId }, ['resize'], 1)))
        await system.clock.sleep(SECOND)
      }
    }

    const polls = [poll('w1'), poll('w2')]
    for (let nth = 0; nth < 120; nth++) await system.clock.advance(100)
    isOver = true
    await timed(system, Promise.all(polls))

    expect(claimed.map(({ task }) => task.key)).toEqual(['both'])
  })

  it('takes no permit until shortly before its time', async () => {
    const { system } = await aLimited({ concurrency: { max: 1 }, rate: { limit: 1, perMs: 10 * SECOND } })
    const [first, second] = [await stored(system, { key: 'a' }), await stored(system, { key: 'b' })]
    await ran(system, first)
    await claim(system, second)
    const counting = countingPermits(system)

    const outcome = await claim(system, await headOf(system, second), 'w2', counting.system)

    expect([refusalOf(outcome), counting.asked()]).toEqual(['rate-limit', 0])
  })

  it('is not put off by an older dispatch that does not show it', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: 10 * SECOND } })
    const [first, second] = [await stored(system, { key: 'a' }), await stored(system, { key: 'b' })]
    await claim(system, first)
    await claim(system, second)
    const waiting = await headOf(system, second)

    await claim(system, second)

    expect((await headOf(system, second)).wait).toEqual(waiting.wait)
  })

  it('that was missed five times in a row lets the task join the line, and none of the five counts as a start', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: 500 } })
    const task = await stored(system, { key: 'a' })
    const putSlots: System['limits']['putSlots'] = async (...log) => {
      await system.clock.sleep(600)
      return system.limits.putSlots(...log)
    }
    const slow: System = { ...system, limits: { ...system.limits, putSlots } }

    const outcome = await claim(system, task, 'w1', slow)

    expect(refusalOf(outcome)).toBe('rate-limit')
    expect((await headOf(system, task)).wait).toEqual({ kind: 'slot', limit: 'resize' })
    expect((await system.limits.slots('resize')).log?.counts).toEqual([])
  })

  it('is claimed a little ahead, and the claim is answered at its time', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: 500 } })
    const [first, second] = [await stored(system, { key: 'a' }), await stored(system, { key: 'b' })]
    await claim(system, first)
    const begunAt = system.clock.now()
    let answeredAt: number | undefined
    const claiming = claimTask(system, second, CLAIMER).then(outcome => {
      answeredAt = system.clock.now()
      return outcome
    })

    await system.clock.advance(400)
    const [ahead] = Object.values((await headOf(system, second)).live)
    const wasAnswered = answeredAt !== undefined
    await timed(system, claiming)

    expect(wasAnswered).toBe(false)
    expect(ahead?.startedAt).toBeGreaterThanOrEqual(begunAt + 500)
    expect(answeredAt).toBeGreaterThanOrEqual(Number(ahead?.startedAt))
  })

  it('is not missed by a process that is blocked for a quarter of a second', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: 500 } })
    const [first, second] = [await stored(system, { key: 'a' }), await stored(system, { key: 'b' })]
    await claim(system, first)
    const slow: System = {
      ...system,
      clock: { ...system.clock, sleep: ms => system.clock.sleep(ms + 240) },
    }
    const begunAt = system.clock.now()

    const outcome = await claim(system, second, 'w1', slow)

    expect(outcome).toMatchObject({ run: { startedAt: expect.any(Number) } })
    expect('run' in outcome && outcome.run.startedAt - begunAt).toBeLessThan(600)
  })

  it('that was missed by a claim that does not wait is reserved once more', async () => {
    const { system, type } = await aLimited({ rate: { limit: 2, perMs: SECOND } }, { kind: 'http' })
    await stored(system, { kind: 'http' })
    let writes = 0
    const putStarts: System['limits']['putSlots'] = async (...log) => {
      writes += 1
      if (writes === 1) await system.clock.sleep(100)
      return system.limits.putSlots(...log)
    }
    const slowAtFirst: System = { ...system, limits: { ...system.limits, putSlots: putStarts } }

    const { claimed } = await timed(system, claimReady(slowAtFirst, [type], CLAIMER, { wanted: 1 }))

    expect([claimed.length, writes]).toEqual([1, 2])
  })

  it('is waited for by a task that another worker runs already, if more workers may run it', async () => {
    const { system } = await aLimited({ rate: { limit: 1, perMs: 10 * SECOND } })
    const task = await stored(system, { options: { concurrency: 2 } })
    await claim(system, task)

    const refused = await claim(system, await headOf(system, task), 'w2')
    const waiting = await headOf(system, task)
    await system.clock.advance(10_380)
    const second = await claim(system, waiting, 'w2')

    expect(refusalOf(refused)).toBe('rate-limit')
    expect(waiting).toMatchObject({ operation: 'throttle', wait: { kind: 'slot' } })
    expect(refusalOf(second)).toBeUndefined()
    expect(Object.keys((await headOf(system, task)).live)).toHaveLength(2)
  })

  it('is granted under all limits at once, or not at all', async () => {
    const { system } = await aLimited({})
    const limits: Record<string, RateLimit> = {
      flow: { limit: 5, perMs: SECOND },
      step: { limit: 3, perMs: SECOND },
    }
    const rates = Object.entries(limits).map(([name, limit]) => ({ name, limit }))
    const ownSlot = { kind: 'wait-for-slot' } as const
    const started: number[] = []
    for (let nth = 0; nth < 3; nth++) {
      await timed(system, reserveStart(system, rates.slice(1), ownSlot, false))
    }

    for (let nth = 0; nth < 12; nth++) {
      const start = await timed(system, reserveStart(system, rates, ownSlot, false))
      if (start.ok) started.push(system.clock.now())
    }

    expect(started.length).toBeGreaterThan(2)
    for (const at of started) {
      expect(started.filter(one => one >= at && one < at + SECOND).length).toBeLessThanOrEqual(3)
    }
  })
})

describe('a limit that refuses tasks of a claim', () => {
  it('is asked once per call, if it counts all tasks', async () => {
    const { system, type } = await aLimited({ concurrency: { max: 1 } }, { kind: 'http' })
    for (let nth = 0; nth < 200; nth++) await stored(system, { key: `k${nth}`, kind: 'http' })
    await claimReady(system, [type], CLAIMER, { wanted: 1 })
    const counting = countingPermits(system)

    const { claimed } = await claimReady(counting.system, [type], CLAIMER, { wanted: 1 })

    expect([claimed.length, counting.asked()]).toEqual([0, 1])
  })

  it('holds back all tasks of a type that is run in order at once, and looks send new tickets', async () => {
    const { system, type } = await aLimited(
      { rate: { limit: 1, perMs: 10 * SECOND } },
      { ordering: 'priority' },
    )
    const parts = { ordering: 'priority' as const }
    await claim(system, await stored(system, { key: 'first', ...parts }))
    for (let nth = 0; nth < 1_100; nth++) await stored(system, { key: `high${nth}`, priority: 9, ...parts })
    const low = await stored(system, { key: 'low', priority: 1, ...parts })

    const outcome = await timed(system, claimByTickets(system, type, CLAIMER, [low]))

    expect(outcome).toMatchObject({ claimed: [], waiting: 1 })
    expect((await headOf(system, low)).wait).toBeUndefined()
    expect(system.messages.limitLooks).toMatchObject([{ line: { kind: 'slot', limit: 'resize' } }])
  })

  it('does not hold back a task whose own key has slots left', async () => {
    const rate = { limit: 1, perMs: 10 * SECOND, key: 'userId' }
    const { system, type } = await aLimited({ rate }, { kind: 'http' })
    for (let nth = 0; nth < 1_500; nth++) await stored(system, { key: `a${nth}`, userId: 'a', kind: 'http' })
    await timed(system, claimReady(system, [type], CLAIMER, { wanted: 1 }))
    await stored(system, { key: 'b', userId: 'b', kind: 'http' })

    const { claimed } = await timed(system, claimReady(system, [type], CLAIMER, { wanted: 1 }))

    expect(claimed.map(({ task }) => task.key)).toEqual(['b'])
  })
})
