import { beforeEach, describe, expect, it } from 'vitest'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { cachedLimitReader } from '../../../shared/runtime/limits/limit-usage.ts'
import { readTask } from '../../../shared/runtime/read/read.ts'
import { cachedTypeReader } from '../../../shared/runtime/types/type-cache.ts'
import { cachedLiveWorkers } from '../../../shared/runtime/worker/worker.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

const read = (id = 'resize:k1') =>
  readTask(
    system,
    {
      typeOf: cachedTypeReader(system),
      liveWorkers: cachedLiveWorkers(system),
      limitHolding: cachedLimitReader(system),
    },
    id,
  )

/** Runs the task once, for one second. */
async function ranOnce(task: Task, workerId: string, outcome: Outcome): Promise<Task> {
  const now = () => system.clock.now()
  const claimed = await transact(system, task, seen => claim(seen ?? task, { workerId }, now()))
  await system.clock.advance(SECOND)
  const { born, fence } = claimed.head ?? task
  const ended = await transact(system, claimed.head, seen =>
    finish(seen, { born, fence, ...outcome }, now(), 0),
  )
  return ended.head ?? task
}

const failure = (n: number): Outcome => ({
  outcome: 'fail',
  error: { name: 'E', message: `${n} ${'m'.repeat(200)}`, stack: 'at x' },
  retryInMs: 0,
})

describe('reading a task', () => {
  it('shows all live and succeeded runs and the last 20 others, whole', async () => {
    let task = await stored(system, { options: { concurrency: 3, retry: { maxRetries: 100 } } })
    task = await ranOnce(task, 'first', { outcome: 'succeed', result: 'r'.repeat(1_000) })
    for (let n = 0; n < 30; n++) task = await ranOnce(task, `w${n}`, failure(n))
    await transact(system, task, seen => claim(seen ?? task, { workerId: 'live' }, system.clock.now()))

    const found = await read()

    expect(found?.runs.map(({ fence }) => fence)).toEqual([
      1,
      ...Array.from({ length: 20 }, (_, n) => n + 12),
      32,
    ])
    expect(found?.runs.at(0)).toMatchObject({ state: 'succeeded', result: 'r'.repeat(1_000) })
    expect(found?.runs.at(-2)).toMatchObject({ error: { message: `29 ${'m'.repeat(200)}`, stack: 'at x' } })
    expect(found?.runs.at(-1)).toMatchObject({ state: 'running', workerId: 'live' })
    expect(found?.error?.message).toBe(`29 ${'m'.repeat(200)}`)
    expect(found?.history.map(({ fence }) => fence)).toEqual([27, 28, 29, 30, 31])
    expect(found?.attempts).toEqual({ used: 32, left: 71 })
  })

  it('shows the last success as the result, and leaves out what would make the answer too long', async () => {
    let task = await stored(system, { input: 'i'.repeat(300_000), options: { concurrency: 20 } })
    for (let n = 0; n < 20; n++) {
      task = await ranOnce(task, `w${n}`, { outcome: 'succeed', result: `${n}${'r'.repeat(300_000)}` })
    }

    const found = await read()
    const shown = found?.runs.filter(({ result }) => result !== undefined).map(({ fence }) => fence)

    expect(found?.result).toMatch(/^19r/)
    expect(found?.input).toHaveLength(300_000)
    expect(shown).toHaveLength(12)
    expect(shown?.at(-1)).toBe(20)
  })

  it('finds no task that never existed, was removed, or has expired', async () => {
    expect(await read()).toBeUndefined()
    const task = await stored(system, { options: { retentionMs: 5 } })
    expect(await read()).toBeDefined()

    await ranOnce(task, 'w', { outcome: 'succeed' })
    await system.clock.advance(5)
    expect(await read()).toBeUndefined()
  })

  it('shows that no worker serves a ready task, until one does', async () => {
    await stored(system)
    expect((await read())?.statusReason).toBe('no-handler')

    await registered(system)
    await system.clock.advance(1_000)
    expect((await read())?.statusReason).toBeUndefined()
  })
})
