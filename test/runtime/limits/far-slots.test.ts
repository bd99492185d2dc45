import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../shared/core/errors.ts'
import { throttle } from '../../../shared/core/limits/wait.ts'
import { MINUTE_SHARDS } from '../../../shared/core/place/place-names.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import { serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { planTasks } from '../../../shared/runtime/plan/plan.ts'
import { sweepMinutes } from '../../../shared/runtime/sweep/sweep-minutes.ts'
import { cachedTypeReader } from '../../../shared/runtime/types/type-cache.ts'
import { wakeMinuteShard, wakeTasks } from '../../../shared/runtime/wake/wake.ts'
import { changeOf, HOUR, MINUTE, NOW, SECOND, taskIn } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  type MemorySystem,
  registered,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'

const SLOT = NOW + 10 * HOUR

/** A task of a type with one start a second, whose slot is ten hours ahead. */
async function throttled(system: MemorySystem, ordering: 'arrival' | 'priority'): Promise<Task> {
  const limits = { rate: { limit: 1, perMs: SECOND } }
  await registered(system, {
    configuration: { kind: 'handler', defaults: {}, shards: 1, limits, ordering },
  })
  const task = await stored(system, { ordering })
  const slot = { limit: 'resize', at: SLOT, rateText: `1/${SECOND}` }
  const throttled = taskIn(await system.tasks.apply(changeOf(throttle(task, slot, NOW))))
  await planTasks(system, [throttled])
  return throttled
}

/** Serves the only dispatch when its queue delivers it. Returns when its run began. */
async function served(system: MemorySystem): Promise<number[]> {
  const [dispatch, ...others] = system.messages.dispatches.splice(0)
  if (!dispatch || others.length > 0) throw new Error(`${others.length + 1} dispatches`)
  await system.clock.advance(dispatch.delaySeconds * SECOND)
  const startedAt: number[] = []
  const definition = defineTask('resize', { run: () => void startedAt.push(system.clock.now()) })
  const received = [{ messageId: 'm', task: dispatch.task }]
  const stopAt = system.clock.now() + MINUTE
  const serving = serveDispatches(
    system,
    received,
    { workerId: 'w' },
    { definition, typeOf: cachedTypeReader(system), stopAt },
  )
  await timed(system, serving)
  return startedAt
}

describe('a slot ten hours ahead', () => {
  it('costs no message before its minute, and then one delivery', async () => {
    const system = aMemorySystem()
    const { place } = await throttled(system, 'arrival')
    const [minute = 0] = system.timers.minutes

    expect([system.messages.dispatches, system.messages.looks]).toEqual([[], []])
    expect(place?.name).toMatch(`minute#${minute}#`)

    await system.clock.advance(minute * MINUTE - 2 * MINUTE - system.clock.now())
    for (let shard = 0; shard < MINUTE_SHARDS; shard++) {
      await wakeMinuteShard(system, { minute, shard }, system.clock.now() + MINUTE)
    }
    const [startedAt = 0] = await served(system)

    expect(startedAt - SLOT).toBeGreaterThanOrEqual(0)
    expect(startedAt - SLOT).toBeLessThan(30)
    expect(system.messages.dispatches).toEqual([])
  })

  it('is woken by the sweeper when its minute could not be scheduled', async () => {
    const system = aMemorySystem()
    const ensureMinute = () => Promise.reject(new BatonError('unavailable', 'no answer'))
    await throttled({ ...system, timers: { ...system.timers, ensureMinute } }, 'arrival')
    const minute = SLOT / MINUTE

    await system.clock.advance(SLOT - 50 * SECOND - NOW)
    const report = await sweepMinutes(system, new Set())
    for (const look of system.messages.minuteLooks) await wakeMinuteShard(system, look, SLOT)

    expect([report, system.timers.minutes.has(minute)]).toEqual([
      { examined: 0, repaired: 1, failed: 0 },
      false,
    ])
    expect(await served(system)).toHaveLength(1)
  })

  it('of a task of an ordered type costs a look every 15 minutes, which no handler sees, and one delivery', async () => {
    const system = aMemorySystem()
    const { place } = await throttled(system, 'priority')
    let looks = 0

    for (
      let next = system.messages.looks.splice(0);
      next.length > 0;
      next = system.messages.looks.splice(0)
    ) {
      expect(next).toHaveLength(1)
      looks += 1
      await system.clock.advance((next[0]?.delaySeconds ?? 0) * SECOND)
      await timed(system, wakeTasks(system, next))
    }

    expect(place?.name).toBe('ready#resize#0')
    expect(looks).toBe(39)
    const [startedAt = 0] = await served(system)
    expect(startedAt - SLOT).toBeGreaterThanOrEqual(0)
    expect(startedAt - SLOT).toBeLessThan(30)
  })
})
