import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimOverHttp } from '../../../shared/runtime/claim/http-claims.ts'
import { serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { createTimedCache, isWithin, momentOf, type System } from '../../../shared/runtime/kernel/system.ts'
import { confirmPermits } from '../../../shared/runtime/limits/permits.ts'
import { keepInTable } from '../../../shared/runtime/run/keep-in-table.ts'
import { pauseType } from '../../../shared/runtime/types/types.ts'
import { createHttpWorkers } from '../../../shared/runtime/worker/announce-http-workers.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  beforeWrites,
  type MemorySystem,
  noAnswer,
  registered,
  stored,
} from '../../support/worlds/memory-system.ts'

/** A process with its own two clocks. A test may set both. */
function aProcess(system: MemorySystem) {
  const set = { wall: 0, monotonic: 0 }
  const clock = {
    ...system.clock,
    now: () => system.clock.now() + set.wall,
    monotonic: () => system.clock.monotonic() + set.monotonic,
  }
  return { set, clock, process: { ...system, types: { ...system.types }, clock } as System }
}

describe('a value that is cached for a second', () => {
  const STEPS: ReadonlyArray<[string, { wall?: number; monotonic?: number }, number, boolean]> = [
    ['is cached within that second', {}, 999, true],
    ['is read again after it', {}, 1_000, false],
    [
      'is read again after it when the wall clock is set back by less than a second',
      { wall: -700 },
      1_100,
      false,
    ],
    ['is read again after it when the wall clock is set back by more', { wall: -3_000 }, 1_100, false],
    ['is read again when the wall clock is set back at once', { wall: -1_000 }, 10, false],
    ['is read again when the wall clock is set forward', { wall: 5_000 }, 10, false],
    [
      'is read again after a freeze, during which the monotonic clock does not move',
      { monotonic: -5_000 },
      5_010,
      false,
    ],
  ]
  it.each(STEPS)('%s', async (_what, { wall = 0, monotonic = 0 }, passed, isKnown) => {
    const system = aMemorySystem()
    const { clock, set } = aProcess(system)
    const cache = createTimedCache<number>(SECOND)
    let reads = 0
    const read = async () => ++reads
    await cache.get(clock, 'a', read)
    const since = momentOf(clock)

    await system.clock.advance(passed)
    set.wall = wall
    set.monotonic = monotonic

    expect(isWithin(clock, since, SECOND)).toBe(isKnown)
    expect((await cache.get(clock, 'a', read)).value).toBe(isKnown ? 1 : 2)
  })

  it('is not cached when it could not be read', async () => {
    const { clock } = aMemorySystem()
    const cache = createTimedCache<number>(SECOND)

    await expect(cache.get(clock, 'a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')

    expect((await cache.get(clock, 'a', async () => 7)).value).toBe(7)
  })
})

describe('a clock that is set back', () => {
  it.each([-500, -900, -3_000, -3_600_000])(
    'by %d ms allows no run to begin after a pause is acknowledged',
    async step => {
      const system = aMemorySystem()
      await registered(system)
      const [first, second] = [await stored(system, { key: 'a' }), await stored(system, { key: 'b' })]
      const { process, set } = aProcess(system)
      expect(await claimTask(process, first, { workerId: 'w1' })).toHaveProperty('run')
      const pausing = pauseType(system, 'resize')
      await system.clock.advance(2 * SECOND)
      await pausing

      set.wall = step

      // By that process's clock, the task is due.
      const seen = { ...second, dueAt: second.dueAt + step }
      expect(await claimTask(process, seen, { workerId: 'w1' })).toMatchObject({ refused: 'paused' })
    },
  )

  it('does not let a handler outlast its lease while the store does not answer', async () => {
    const system = aMemorySystem()
    const { process, set } = aProcess(system)
    const task = await stored(system)
    const claimed = await claimTask(process, task, { workerId: 'w1' })
    if ('refused' in claimed) throw new Error(claimed.refused)
    const lost: string[] = []
    const over = new AbortController()
    const kept = keepInTable(beforeWrites(process, noAnswer), claimed)
    const stop = (why: string) => {
      lost.push(why)
      over.abort()
    }
    void kept.hold(stop, over.signal)
    await system.clock.advance(4 * SECOND)

    set.wall = -3_600_000
    await system.clock.advance(10.9 * SECOND)
    const before = [...lost]
    await system.clock.advance(0.2 * SECOND)

    expect(before).toEqual([])
    expect(lost).toEqual(['storage'])
  })

  it('makes a claim confirm permits that it may have taken too long ago', async () => {
    const system = aMemorySystem()
    const { process, clock, set } = aProcess(system)
    const since = momentOf(clock)
    await system.clock.advance(11 * SECOND)
    set.wall = -10 * SECOND

    expect(await confirmPermits(process, [{ limit: 'resize', holder: 'gone' }], since)).toBe(false)
  })

  it('does not make a claim wait for longer than it asked', async () => {
    const system = aMemorySystem()
    await registered(system, { configuration: { kind: 'http', defaults: {}, shards: 1 } })
    const { process, set } = aProcess(system)
    let answer: unknown
    const request = { types: ['resize'], claimer: { workerId: 'w1' }, limit: 1, waitMs: 5 * SECOND }
    const claiming = claimOverHttp(process, request, createHttpWorkers(process)).then(came => {
      answer = came
    })
    await system.clock.advance(SECOND)
    set.wall = -3_600_000
    for (let nth = 0; nth < 50; nth++) await system.clock.advance(100)

    expect(answer).toEqual({ ok: true, claims: [] })
    await claiming
  })

  it('makes a worker send back a dispatch that is still not due after its wait', async () => {
    const system = aMemorySystem()
    await registered(system)
    const task: Task = await stored(system, { dueAt: system.clock.now() + SECOND })
    const { process, set } = aProcess(system)
    const serving = serveDispatches(
      process,
      [{ messageId: 'm1', task }],
      { workerId: 'w1' },
      {
        definition: { kind: 'baton-task', type: 'resize', config: {}, run: () => 'too early' } as never,
        typeOf: async () => undefined,
        stopAt: system.clock.now() + 60 * SECOND,
      },
    )
    await system.clock.advance(100)
    set.wall = -10 * SECOND
    await system.clock.advance(1_000)

    expect(await serving).toEqual([])
    expect(system.messages.dispatches).toMatchObject([{ task: { id: task.id }, delaySeconds: 10 }])
    expect((await system.tasks.head(task.id))?.fence).toBe(0)
  })
})
