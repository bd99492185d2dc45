import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import type { TaskContext } from '../../../shared/define/definitions.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import { Fatal, Release, RetryLater } from '../../../shared/signals.ts'
import { changeOf, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  beforeWrites,
  type MemorySystem,
  noAnswer,
  registered,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'
import { runTask } from '../../support/worlds/run-task.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

const CLAIMER = { workerId: 'w1' }

// biome-ignore lint/suspicious/noExplicitAny: handlers of any input
type Run = (input: any, context: TaskContext) => unknown

/** Runs `task` with a handler, and moves the clock on until the run is over. */
async function runWith(
  system: MemorySystem,
  task: Task,
  run: Run,
  more: { aborting?: AbortSignal; outOfTime?: AbortSignal; input?: z.ZodType } = {},
) {
  const { input = z.unknown(), ...signals } = more
  const definition = defineTask('resize', { input, run })
  const report = await timed(system, runTask(system, task, CLAIMER, { definition, ...signals }))
  const after = await readTask(system, task.id)
  return { report, after, runs: Object.values(after?.ended ?? {}) }
}

const throwing = (error: unknown) => () => {
  throw error
}

/** Waits until the run's signal is aborted. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

describe('a handler that ends before its run is stopped', () => {
  const cases: ReadonlyArray<[string, Run, object]> = [
    ['returns', () => ({ bytes: 3 }), { state: 'succeeded', run: 'succeeded' }],
    ['returns nothing', () => undefined, { state: 'succeeded', run: 'succeeded' }],
    ['throws', throwing(new TypeError('no')), { state: 'open', run: 'failed', dueIn: 1 * SECOND }],
    [
      'throws a value that is not an error',
      throwing({ code: 7 }),
      { state: 'open', run: 'failed', dueIn: 1 * SECOND },
    ],
    [
      'throws RetryLater',
      throwing(new RetryLater(7_000)),
      { state: 'open', run: 'failed', dueIn: 7 * SECOND },
    ],
    [
      'throws a wrapped RetryLater',
      throwing(new Error('x', { cause: new RetryLater(7_000) })),
      { state: 'open', run: 'failed', dueIn: 7 * SECOND },
    ],
    ['throws Fatal', throwing(new Fatal('never')), { state: 'failed', run: 'failed' }],
    ['throws Release', throwing(new Release(3_000)), { state: 'open', run: 'released', dueIn: 3 * SECOND }],
    ['returns Release', () => new Release(), { state: 'open', run: 'released', dueIn: 0 }],
    ['returns what JSON cannot hold', () => ({ at: 2n ** 70n }), { state: 'failed', run: 'failed' }],
    ['returns no number', () => Number.NaN, { state: 'failed', run: 'failed' }],
    ['returns a number beyond 2^53', () => 6.02e23, { state: 'succeeded', run: 'succeeded' }],
    ['returns too much', () => 'x'.repeat(360_000), { state: 'failed', run: 'failed' }],
  ]

  it.each(cases)('%s', async (_name, run, expected: { state?: string; run?: string; dueIn?: number }) => {
    const task = await stored(system)

    const { after, runs } = await runWith(system, task, run)

    expect(after?.state).toBe(expected.state)
    expect(runs.map(({ state }) => state)).toEqual([expected.run])
    if (expected.dueIn !== undefined) {
      expect((after?.dueAt ?? 0) - (runs[0]?.endedAt ?? 0)).toBeLessThanOrEqual(expected.dueIn)
      expect((after?.dueAt ?? 0) - task.dueAt).toBeGreaterThanOrEqual(expected.dueIn)
    }
  })

  it('gets its input parsed; an input that does not fit fails without a retry and names the field', async () => {
    const input = z.object({ width: z.number() })
    const good = await stored(system, { key: 'good', input: { width: 3 } })
    const bad = await stored(system, { key: 'bad', input: { width: 'wide' } })

    const ran = await runWith(system, good, ({ width }) => width + 1, { input })
    const refused = await runWith(system, bad, () => 'not reached', { input })

    expect(ran.runs[0]?.result).toEqual({ inline: 4 })
    expect(refused.after).toMatchObject({ state: 'failed', error: { name: 'Fatal' } })
    expect(refused.after?.error?.message).toContain('width')
  })

  it('keeps dates and toJSON values, and leaves undefined members out', async () => {
    const task = await stored(system)

    const { runs } = await runWith(system, task, () => ({ at: new Date(0), none: undefined, list: [1] }))

    expect(runs[0]?.result).toEqual({ inline: { at: '1970-01-01T00:00:00.000Z', list: [1] } })
  })
})

describe('a handler whose run ends under it', () => {
  const change = async (system: MemorySystem, decide: (task: Task) => Parameters<typeof changeOf>[0]) => {
    const current = await readTask(system, 'resize:k1')
    if (!current) throw new Error('no task')
    await system.tasks.apply(changeOf(decide(current)))
  }

  it.each([
    ['cancelled', (task: Task) => cancel(task, task.updatedAt + 1), 'cancelled'],
    ['removed', (task: Task) => ({ ok: true, change: remove(task, task.updatedAt + 1) }), 'removed'],
    ['excluded', (task: Task) => patch(task, { options: { workerIds: ['w2'] } }, task.updatedAt + 1), 'open'],
  ])(
    '%s: its signal aborts with the next heartbeat, and its result is not written',
    async (_name, decide, state) => {
      const task = await stored(system)
      let abortedAt = 0

      const { report, after } = await runWith(system, task, async (_input, { signal }) => {
        await change(system, decide)
        await untilAborted(signal).catch(() => {
          abortedAt = system.clock.now()
        })
        return 'too late'
      })

      expect(report).toMatchObject({ outcome: 'stopped' })
      expect(after?.state).toBe(state)
      expect(abortedAt - task.dueAt).toBeLessThanOrEqual(5 * SECOND)
    },
  )

  it.each<[string, Run]>([
    ['over its timeout', (_input, { signal }) => untilAborted(signal)],
    ['over its timeout, although it ignores its signal', () => new Promise(() => {})],
  ])('%s: the run fails as timed out and is retried', async (_name, run) => {
    const task = await stored(system, { options: { timeoutMs: 2_000 } })

    const { after, runs } = await runWith(system, task, run)

    expect(after?.state).toBe('open')
    expect(runs[0]).toMatchObject({ state: 'failed', error: { name: 'TimedOut' } })
  })

  it('over its timeout: what its handler returns later is not written', async () => {
    const task = await stored(system, { options: { timeoutMs: 2_000 } })
    const ends: string[] = []
    const counting = beforeWrites(system, ({ operation }) => {
      if (['succeed', 'fail', 'release'].includes(operation)) ends.push(operation)
    })
    const late = Promise.withResolvers<string>()

    const { after } = await runWith(counting, task, () => late.promise)
    late.resolve('too late')
    await system.clock.advance(1 * SECOND)

    expect(ends).toEqual(['fail'])
    expect(await readTask(system, task.id)).toEqual(after)
  })

  it('past its deadline: the task fails for good', async () => {
    const task = await stored(system, { options: { deadlineMs: 2_000 } })

    const { after, runs } = await runWith(system, task, (_input, { signal }) => untilAborted(signal))

    const error = { name: 'DeadlineExceeded', message: 'not done within 2000 ms of its due time' }
    expect(after).toMatchObject({ state: 'failed', dueAt: task.dueAt, error })
    expect(runs[0]).toMatchObject({ state: 'failed', error })
    expect(runs[0]?.error).not.toHaveProperty('stack')
  })

  it('that has used up all the time of its function fails as timed out, since a release would repeat that for ever', async () => {
    const task = await stored(system)
    const outOfTime = new AbortController()

    const { after, runs } = await runWith(
      system,
      task,
      (_input, { signal }) => {
        outOfTime.abort()
        return untilAborted(signal)
      },
      { outOfTime: outOfTime.signal },
    )

    expect(runs[0]).toMatchObject({ state: 'failed', error: { name: 'TimedOut' } })
    expect(after).toMatchObject({ state: 'open', failures: 1 })
  })

  it('before it began: it is not called any more', async () => {
    const task = await stored(system)
    let started = false

    const { runs } = await runWith(
      system,
      task,
      () => {
        started = true
      },
      { aborting: AbortSignal.abort() },
    )

    expect(started).toBe(false)
    expect(runs.map(({ state }) => state)).toEqual(['released'])
  })

  it('in a process that must stop: the run is released and no retry is counted', async () => {
    const task = await stored(system)
    const aborting = new AbortController()

    const { after, runs } = await runWith(
      system,
      task,
      (_input, { signal }) => {
        aborting.abort()
        return untilAborted(signal)
      },
      { aborting: aborting.signal },
    )

    expect(runs.map(({ state }) => state)).toEqual(['released'])
    expect(after).toMatchObject({ state: 'open', failures: 0 })
  })
})

describe('heartbeats', () => {
  it('renew the lease while the handler works, from 1.5 s on, and report progress', async () => {
    const task = await stored(system)
    const leases: Array<number | undefined> = []

    await runWith(system, task, async (_input, { progress }) => {
      progress({ done: 1 })
      for (const _ of [1, 2, 3]) {
        await system.clock.sleep(4_000)
        leases.push((await readTask(system, task.id))?.live[1]?.leaseUntil)
      }
      expect((await readTask(system, task.id))?.live[1]?.progress).toEqual({ done: 1 })
    })

    expect(leases.map(lease => (lease ?? 0) - task.dueAt)).toEqual([16_500, 21_500, 26_500])
  })

  it.each([
    ['with the option liveLog', { liveLog: true }, false, 4_000],
    ['each second in a system that shows all logs', {}, true, 2_100],
    ['never without', {}, false, undefined],
  ])('store the newest 1 KB of the log %s', async (_name, options, hasLiveLogs, afterMs) => {
    const task = await stored(system, { options })
    const line = 'x'.repeat(200)
    let seen: string | undefined

    await runWith({ ...system, hasLiveLogs }, task, async (_input, { log }) => {
      for (let nth = 0; nth < 20; nth++) log.info(`${line} ${nth}`)
      await system.clock.sleep(1_600)
      log.warn('last')
      await system.clock.sleep((afterMs ?? 4_000) + 1_000)
      seen = (await readTask(system, task.id))?.live[1]?.log
    })

    if (afterMs === undefined) return expect(seen).toBeUndefined()
    expect(seen?.length).toBeLessThanOrEqual(1_024)
    expect(seen?.split('\n').map(text => text.split(' ').at(-1))).toEqual(['16', '17', '18', '19', 'last'])
  })

  it('use a changed interval from the next heartbeat on', async () => {
    const task = await stored(system)
    let beats = 0
    const counting = { ...system, tasks: { ...system.tasks } }
    counting.tasks.apply = async change => {
      const applied = await system.tasks.apply(change)
      if (change.after.operation === 'beat' && applied.applied) beats++
      return applied
    }

    await runWith(counting, task, async () => {
      const current = await readTask(system, task.id)
      if (current)
        await system.tasks.apply(
          changeOf(patch(current, { options: { heartbeatMs: 1_000 } }, current.updatedAt)),
        )
      await system.clock.sleep(8_600)
    })

    expect(beats).toBe(8)
  })

  it('tolerate a store that does not answer until the lease ends, then abort the handler', async () => {
    const task = await stored(system)
    const broken = beforeWrites(system, ({ operation }) => operation === 'beat' && noAnswer())
    let abortedAfter = 0

    await runWith(broken, task, async (_input, { signal }) => {
      await untilAborted(signal).catch(() => {
        abortedAfter = system.clock.now() - task.dueAt
      })
    })

    expect(abortedAfter).toBeGreaterThanOrEqual(15 * SECOND)
    expect(abortedAfter).toBeLessThanOrEqual(20 * SECOND)
  })

  it('that hang do not keep the handler beyond its lease, nor its process', async () => {
    const task = await stored(system)
    const hanging = beforeWrites(system, ({ operation }) => operation === 'beat' && new Promise(() => {}))
    let abortedAfter = 0

    const { report } = await runWith(hanging, task, async (_input, { signal }) => {
      await untilAborted(signal).catch(() => {
        abortedAfter = system.clock.now() - task.dueAt
      })
    })

    expect(abortedAfter).toBe(15 * SECOND)
    expect(report).toMatchObject({ outcome: 'stopped' })
  })

  it('carry at most 1 KB of progress', async () => {
    const task = await stored(system, { options: { retry: { maxRetries: 0 } } })

    const { after } = await runWith(system, task, (_input, { progress }) => progress('x'.repeat(1_100)))

    expect(after?.error?.message).toContain('progress has 1102 bytes')
  })

  it('end with the run, and so does the watch of its timeout and of its deadline', async () => {
    const options = { timeoutMs: 3_600_000, deadlineMs: 7_200_000 }
    const task = await stored(system, { options })

    const { after } = await runWith(system, task, () => 1)

    expect(after?.state).toBe('succeeded')
    expect(system.clock.now() - task.dueAt).toBeLessThan(1 * SECOND)
    expect(system.clock.sleepers()).toBe(0)
  })
})

describe('a claim that is refused, or whose run cannot begin or end', () => {
  it('of another birth: the dispatch is dropped and changes nothing', async () => {
    const task = await stored(system)
    await system.tasks.apply(remove(task, system.clock.now()))
    await registered(system)
    await publish(system, { type: 'resize', key: 'k1' })

    const { report, after } = await runWith(system, task, () => 'not reached')

    expect(report).toMatchObject({ refused: 'gone' })
    expect(after).toMatchObject({ state: 'open', fence: 0, live: {} })
  })

  it('of a task that another worker took: the handler is not called', async () => {
    const task = await stored(system)
    await runWith(system, task, () => 'first')

    const { report, runs } = await runWith(system, task, () => 'second')

    expect(report).toMatchObject({ refused: 'finished' })
    expect(runs[0]?.result).toEqual({ inline: 'first' })
  })

  it('of a task whose input cannot be read now: the task is released and no retry is counted', async () => {
    const task = await stored(system, { input: 'x'.repeat(1_000), options: { retry: { maxRetries: 0 } } })
    const broken = { ...system, tasks: { ...system.tasks } }
    broken.tasks.body = () => Promise.reject(new BatonError('unavailable', 'no answer'))

    const { after, runs } = await runWith(broken, task, () => 'not reached')

    expect(runs.map(({ state }) => state)).toEqual(['released'])
    expect(after).toMatchObject({ state: 'open', failures: 0 })
  })

  it('because the store fails once at the end: the end is written again within the lease', async () => {
    const task = await stored(system)
    let failures = 3
    const flaky = beforeWrites(
      system,
      ({ operation }) => operation === 'succeed' && failures-- > 0 && noAnswer(),
    )

    const { after } = await runWith(flaky, task, () => 1)

    expect(after?.state).toBe('succeeded')
  })
})

describe('a result that JSON cannot hold fails the task for good, and the error names its path', () => {
  const circular = () => {
    const order: Record<string, unknown> = { id: 1 }
    return { orders: [{ id: 0 }, Object.assign(order, { customer: { order } })] }
  }
  const nested = () => {
    let value: unknown = 1
    for (let depth = 0; depth < 20_000; depth++) value = [value]
    return value
  }
  const shared = { id: 1 }

  it.each<[string, () => unknown, string | undefined]>([
    [
      'that is circular',
      circular,
      'result of resize is circular at orders.1.customer.order; it must be JSON',
    ],
    ['that nests beyond any stack', nested, 'result of resize 0.0.0.0.0.0.0.0'],
    ['that has one object in two places', () => [shared, shared], undefined],
  ])('%s', async (_what, result, message) => {
    const { after } = await runWith(system, await stored(system), () => result())

    expect(after?.state).toBe(message === undefined ? 'succeeded' : 'failed')
    if (message === undefined) return
    expect(after?.error).toMatchObject({ name: 'InvalidResult', message: expect.stringContaining(message) })
  })
})
