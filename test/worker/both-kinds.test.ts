import { afterEach, describe, expect, it } from 'vitest'
import { cancel } from '../../shared/core/operate/operate.ts'
import type { Task } from '../../shared/core/task/task.ts'
import { Fatal, Release } from '../../shared/signals.ts'
import { changeOf } from '../support/tasks/a-task.ts'
import { aGate } from './a-worker-world.ts'
import type { Run, SeenRun, Settings, WorkerOfKind } from './both-kinds.ts'
import { aWorkerOfKind, KINDS } from './both-kinds.ts'

/** What a worker promises, whether it has its tasks from queues or over HTTP. */

let world: WorkerOfKind
afterEach(() => world?.end())

const runsOf = ({ ended }: Task) => Object.values(ended).map(({ state }) => state)

/** Waits until the signal of the run is aborted, and returns why. */
function reasonOf(signal: AbortSignal): Promise<string> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(signal.reason.message)))
}

/** Whether the promise is fulfilled. */
function watched(promise: Promise<unknown>) {
  const seen = { isOver: false }
  promise.then(() => {
    seen.isOver = true
  })
  return seen
}

/** What the hooks of a worker were called with, by their names. */
function seenByHooks() {
  const seen: Array<[hook: string, Partial<SeenRun>]> = []
  const see = (hook: string) => (about: Partial<SeenRun>) => void seen.push([hook, about])
  const hooks: Settings = {
    beforeRun: see('beforeRun'),
    afterRun: see('afterRun'),
    onError: see('onError'),
  }
  return { seen, hooks, names: () => seen.map(([name]) => name) }
}

describe.each(KINDS)('a worker of kind %s: a run', kind => {
  const throwing = (error: unknown): Run => {
    return () => {
      throw error
    }
  }
  let calls = 0

  const SUCCEEDS = { state: 'succeeded', runs: ['succeeded'], outcome: 'succeed' }
  const FAILS = { state: 'open', runs: ['failed'], outcome: 'fail' }
  const FAILS_FOR_GOOD = { ...FAILS, state: 'failed' }
  const IS_RELEASED = { state: 'open', runs: ['released'], outcome: 'release' }
  const failsTwice: Run = () => {
    calls += 1
    if (calls < 3) throw new Error('again')
  }
  const waitsForTimeout: Run = (_input, { signal }) => reasonOf(signal)
  const reportsWrongly: Run = (_input, { progress }) => progress(2n as never)

  const ENDS: ReadonlyArray<[string, Run, object, typeof FAILS]> = [
    ['succeeds', () => 1, {}, SUCCEEDS],
    ['throws', throwing(new TypeError('no')), {}, FAILS],
    ['throws Fatal', throwing(new Fatal('no')), {}, FAILS_FOR_GOOD],
    ['gives its task back', () => new Release(600_000), {}, IS_RELEASED],
    ['fails twice and has two local retries', failsTwice, { retry: { localRetries: 2 } }, SUCCEEDS],
    ['takes longer than its timeout', waitsForTimeout, { timeoutMs: 3_000 }, FAILS],
    ['ignores its timeout', () => new Promise(() => {}), { timeoutMs: 3_000 }, FAILS],
    ['reports progress that cannot be stored', reportsWrongly, {}, FAILS],
    ['returns what cannot be stored', () => 'x'.repeat(400_000), {}, FAILS_FOR_GOOD],
  ]
  it.each(ENDS)('that %s', async (_what, run, options, { outcome, ...expected }) => {
    calls = 0
    const { hooks, seen, names } = seenByHooks()
    world = await aWorkerOfKind(kind, run, hooks)
    const retry = { backoff: 'fixed', delayMs: 3_600_000 }

    const id = await world.publish({
      ...options,
      retry: { ...retry, ...('retry' in options && (options.retry as object)) },
    })
    await world.until(() => names().includes('afterRun'))
    await world.end()

    const head = await world.head(id)
    expect({ state: head.state, runs: runsOf(head) }).toEqual(expected)
    expect(seen.at(-1)).toMatchObject(['afterRun', { task: { id }, run: { fence: 1 }, outcome }])
    const error = Object.values(head.ended)[0]?.error
    expect(names()).toEqual(['beforeRun', ...(error ? ['onError'] : []), 'afterRun'])
    const failures = seen.filter(([name]) => name === 'onError')
    expect(failures.map(([, about]) => about)).toMatchObject(
      error ? [{ error: { name: error.name, message: error.message } }] : [],
    )
  })

  it('has the hooks around it, and keeps its lease while they wait', async () => {
    const order: string[] = []
    world = await aWorkerOfKind(kind, () => void order.push('handler'), {
      beforeRun: async () => {
        order.push('before begins')
        await world.system.clock.sleep(20_000)
        order.push('before ends')
      },
      afterRun: () => order.push('after'),
    })

    const id = await world.publish()
    await world.until(() => order.includes('after'))

    expect(order).toEqual(['before begins', 'before ends', 'handler', 'after'])
    expect(await world.head(id)).toMatchObject({ state: 'succeeded', fence: 1, failures: 0 })
  })

  it('is not disturbed by hooks that throw', async () => {
    const blow = () => {
      throw new Error('no')
    }
    world = await aWorkerOfKind(kind, blow, { beforeRun: blow, afterRun: async () => blow(), onError: blow })

    const id = await world.publish({ retry: { maxRetries: 0 } })
    await world.until(() => world.errors.length === 3)

    expect((await world.head(id)).state).toBe('failed')
    expect(world.errors).toEqual(['beforeRun', 'onError', 'afterRun'].map(name => `the hook ${name} threw`))
  })

  it('stops when its task is cancelled: the hooks learn it, and nothing is written', async () => {
    const { hooks, seen, names } = seenByHooks()
    const reasons: string[] = []
    const run: Run = async (_input, { signal }) => reasons.push(await reasonOf(signal))
    world = await aWorkerOfKind(kind, run, hooks)
    const id = await world.publish({ heartbeatMs: 1_000 })
    await world.until(() => names().includes('beforeRun'))

    await world.system.tasks.apply(changeOf(cancel(await world.head(id), world.system.clock.now())))
    await world.until(() => names().includes('afterRun'))
    await world.end()

    expect(reasons).toEqual(['the run is over: cancelled'])
    expect(seen.at(-1)).toMatchObject(['afterRun', { outcome: 'stopped' }])
    expect(names()).toEqual(['beforeRun', 'afterRun'])
    expect(runsOf(await world.head(id))).toEqual(['cancelled'])
  })

  it('stops when its lease ends during an outage, and publishes nothing from then on', async () => {
    const { hooks, seen, names } = seenByHooks()
    const reasons: string[] = []
    let late: Promise<unknown> | undefined
    const run: Run = async (_input, ctx) => {
      reasons.push(await reasonOf(ctx.signal))
      late = ctx.publish({ type: 'resize', key: 'late' }).catch(error => error.message)
    }
    world = await aWorkerOfKind(kind, run, hooks)
    world.outage.add('beat').add('end')

    await world.publish({ leaseMs: 5_000, heartbeatMs: 1_000 })
    await world.until(() => names().includes('afterRun'))
    const seenOfRun = names()

    expect(reasons).toEqual(['the run is over: its lease has ended'])
    expect(seenOfRun).toEqual(['beforeRun', 'afterRun'])
    expect(await late).toBe('resize:late is not published: the run is over: its lease has ended')
    expect(seen.at(-1)).toMatchObject(['afterRun', { outcome: 'stopped' }])
  })

  it('shows its progress while it lasts', async () => {
    const gate = aGate()
    const run: Run = (input, ctx) => {
      ctx.progress({ done: 1 })
      return gate.run(input, ctx)
    }
    world = await aWorkerOfKind(kind, run)
    const id = await world.publish({ leaseMs: 3_600_000 })

    await world.until(async () => (await world.head(id)).live[1]?.progress)

    expect((await world.head(id)).live[1]?.progress).toEqual({ done: 1 })
  })

  it('publishes children for the user of its task', async () => {
    const run: Run = (_input, { key, type, publish }) => key !== 'child' && publish({ type, key: 'child' })
    world = await aWorkerOfKind(kind, run)

    const id = await world.publish({ key: 'parent', userId: 'u1' })
    await world.until(async () => (await world.head(id)).state === 'succeeded')

    expect((await world.head(id.replace('parent', 'child'))).userId).toBe('u1')
  })

  it('reports its end again after an outage', async () => {
    world = await aWorkerOfKind(kind, () => 'done')
    world.outage.add('end')

    const id = await world.publish({ leaseMs: 600_000 })
    await world.until(() => world.worker.running() === 1)
    await world.system.clock.advance(5_000)
    world.outage.delete('end')
    await world.until(() => world.worker.running() === 0)

    expect(await world.head(id)).toMatchObject({ state: 'succeeded', fence: 1 })
  })

  it('whose end is not accepted until its lease ends is a failure of the worker', async () => {
    const { hooks, seen, names } = seenByHooks()
    world = await aWorkerOfKind(kind, () => 'done', hooks)
    world.outage.add('beat').add('end')

    const id = await world.publish({ leaseMs: 5_000, heartbeatMs: 1_000 })
    await world.until(() => names().includes('onError'))

    expect(seen.at(-1)).toMatchObject(['onError', { error: { code: 'unavailable' }, task: { id } }])
    expect(names()).toEqual(['beforeRun', 'onError'])
    expect((await world.head(id)).state).toBe('open')
  })
})

describe.each(KINDS)('a worker of kind %s', kind => {
  it('runs as many tasks at a time as its concurrency, which may change', async () => {
    const gate = aGate()
    world = await aWorkerOfKind(kind, gate.run, { concurrency: 1 })
    for (let n = 0; n < 8; n++) await world.publish({ leaseMs: 3_600_000 })

    await world.until(() => gate.running() === 1)
    world.worker.setConcurrency(5)
    await world.until(() => gate.running() === 5)
    world.worker.setConcurrency(2)
    gate.openAll()
    await world.until(() => gate.running() === 2)

    expect(gate.most()).toBe(5)
    expect(world.worker.running()).toBe(2)
    expect(() => world.worker.setConcurrency(0)).toThrow('concurrency is 0; give a whole number from 1 up')
  })

  it('that stops lets its runs finish, and takes no more', async () => {
    const gate = aGate()
    world = await aWorkerOfKind(kind, gate.run)
    const running = await world.publish()
    await world.until(() => gate.running() === 1)

    const stopped = world.worker.stop({ timeoutMs: 600_000 })
    const stopping = watched(stopped)
    const later = await world.publish({ key: 'later' })
    await world.system.clock.advance(2_000)
    const early = stopping.isOver
    gate.openAll()
    await world.until(() => stopping.isOver)
    await stopped

    expect(early).toBe(false)
    expect((await world.head(running)).state).toBe('succeeded')
    // What a claim that was under way brings is released.
    expect(await world.head(later)).toMatchObject({ state: 'open', failures: 0, live: {} })
    expect(gate.waiting).toHaveLength(0)
    expect(() => world.worker.start()).toThrow('was stopped')
  })

  it.each([
    ['any worker may take', {}],
    ['names it', { workerIds: ['w1'] }],
  ])(
    'that stops while it claims a task that %s waits for the answer, and runs the task or gives it back',
    async (_which, options) => {
      world = await aWorkerOfKind(kind, () => 'done')
      const claims = world.holdClaims()
      const id = await world.publish({ ...options, leaseMs: 3_600_000 })
      await world.until(() => claims.waiting() > 0)

      const stopping = watched(world.worker.stop({ timeoutMs: 600_000 }))
      await world.system.clock.advance(2_000)
      const early = stopping.isOver
      claims.letGo()
      await world.until(() => stopping.isOver)

      const head = await world.head(id)
      expect(early).toBe(false)
      expect(head).toMatchObject({ live: {}, fence: 1, failures: 0 })
      expect(runsOf(head)).toEqual([head.state === 'open' ? 'released' : 'succeeded'])
    },
  )

  it.each(['stop', 'abort'] as const)(
    'releases runs that do not end, at no cost of a retry: %s',
    async how => {
      const { hooks, seen, names } = seenByHooks()
      world = await aWorkerOfKind(kind, () => new Promise(() => {}), { ...hooks, drainMs: 1_000 })
      const id = await world.publish()
      await world.until(() => names().includes('beforeRun'))

      const stopping = watched(world.worker[how]())
      await world.until(() => stopping.isOver)

      const head = await world.head(id)
      expect(head).toMatchObject({ state: 'open', failures: 0, live: {} })
      expect(new Set(runsOf(head))).toEqual(new Set(['released']))
      expect(names()).toEqual(['beforeRun', 'afterRun'])
      expect(seen.at(-1)).toMatchObject(['afterRun', { outcome: 'release' }])
      expect(world.worker.running()).toBe(0)
    },
  )

  it('that ends does not wait for a hook that hangs', async () => {
    let isReached = false
    world = await aWorkerOfKind(kind, () => 'done', {
      afterRun: () => {
        isReached = true
        return new Promise(() => {})
      },
    })
    const id = await world.publish()
    await world.until(() => isReached)

    await world.end()

    expect((await world.head(id)).state).toBe('succeeded')
  })
})
