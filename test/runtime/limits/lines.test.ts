import { describe, expect, it } from 'vitest'
import { cancelTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { HOUR, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { aLimitedWorld, type LimitedWorld } from '../../support/worlds/limited-world.ts'

const ONE_A_MINUTE = { limit: 1, perMs: MINUTE }
const keys = (count: number) => Array.from({ length: count }, (_, nth) => `k${nth}`)

describe('tasks that wait under a rate limit', () => {
  it('continue starting under a slight overload, although each expires ten minutes after its publish', async () => {
    const { publish, pass, startsIn } = await aLimitedWorld({
      deadlineMs: 10 * MINUTE,
      limits: { rate: ONE_A_MINUTE },
    } as never)

    for (let nth = 0; nth < 288; nth++) {
      await publish({ key: `k${nth}` })
      await pass(50 * SECOND)
    }

    for (const hour of [1, 2, 3]) expect(startsIn(hour * HOUR, (hour + 1) * HOUR)).toBeGreaterThanOrEqual(54)
  })

  it('continue starting while urgent tasks overtake them', async () => {
    const rate = { limit: 6, perMs: MINUTE }
    const { publish, pass, startsIn, starts } = await aLimitedWorld({
      ordering: 'priority',
      limits: { rate },
    })
    for (const key of keys(400)) await publish({ key })

    for (let minute = 0; minute < 60; minute++) {
      for (let nth = 0; nth < 3; nth++) await publish({ key: `high${minute}-${nth}`, priority: 9 })
      await pass(MINUTE)
    }

    for (const from of [0, 10, 20, 30, 40, 50]) {
      expect(startsIn(from * MINUTE, (from + 10) * MINUTE)).toBeGreaterThanOrEqual(54)
    }
    expect(starts.filter(({ key }) => key.startsWith('high')).length).toBeGreaterThanOrEqual(174)
  })

  it('take no slot that comes after their deadline from those behind them', async () => {
    const { publish, pass, starts } = await aLimitedWorld({ limits: { rate: ONE_A_MINUTE } })
    await publish({ key: 'first' })
    await publish({ key: 'expires', options: { deadlineMs: 62 * SECOND } })
    await publish({ key: 'behind' })

    await pass(64 * SECOND)

    expect(starts.map(({ key }) => key)).toEqual(['first', 'behind'])
  })

  it('keep their turn when only the concurrency limit of their type is changed', async () => {
    const limitsOf = (max: number) => ({ limits: { rate: ONE_A_MINUTE, concurrency: { max } } })
    const { publish, pass, startsIn, deploy } = await aLimitedWorld(limitsOf(5))
    for (const key of keys(60)) await publish({ key })
    await pass(5 * MINUTE)

    deploy(limitsOf(6))
    await pass(30 * MINUTE)

    expect(startsIn(5 * MINUTE, 35 * MINUTE)).toBeGreaterThanOrEqual(27)
  })

  it.each([
    [
      'the first fairness key of their type',
      async (w: LimitedWorld) => {
        await w.publish({ key: 'tenant', fairnessKey: 't1' })
      },
    ],
    [
      'a changed order',
      async (w: LimitedWorld) => {
        w.deploy({ ordering: 'priority', limits: { rate: ONE_A_MINUTE } })
      },
    ],
  ] as const)('continue starting after %s', async (_what, change) => {
    const world = await aLimitedWorld({ limits: { rate: ONE_A_MINUTE } })
    for (const key of keys(60)) await world.publish({ key })
    await world.pass(5 * MINUTE)

    await change(world)
    await world.pass(30 * MINUTE)

    expect(world.startsIn(5 * MINUTE, 35 * MINUTE)).toBeGreaterThanOrEqual(27)
  })

  it('leave nothing behind when they are cancelled: a new task starts within a period', async () => {
    const { publish, pass, world, starts, now } = await aLimitedWorld({ limits: { rate: ONE_A_MINUTE } })
    for (const key of keys(200)) await publish({ key })
    await pass(MINUTE)
    for (const key of keys(200)) await cancelTask(world.system, `mail:${key}`)
    const cancelledAt = now()

    await publish({ key: 'right' })
    await pass(2 * MINUTE)

    const right = starts.find(({ key }) => key === 'right')
    expect(right && right.at - cancelledAt).toBeLessThan(63 * SECOND)
  })

  it('start though they are patched every twelve seconds, and delay no other task', async () => {
    const { publish, pass, world, starts } = await aLimitedWorld({ limits: { rate: ONE_A_MINUTE } })
    for (const key of ['a', 'b']) await publish({ key })
    await pass(12 * SECOND)

    for (let nth = 0; nth < 10; nth++) {
      await patchTask(world.system, 'mail:b', { tags: { note: String(nth) } })
      await pass(12 * SECOND)
    }
    await publish({ key: 'c' })
    await pass(2 * MINUTE)

    expect(starts.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
    expect(starts[1]?.at).toBeLessThan(75 * SECOND)
  })

  it('start under a changed limit within two minutes, though the message of its job is lost', async () => {
    const limitsOf = (limit: number, perMs: number, key?: string) =>
      ({ limits: { rate: { limit, perMs, ...(key && { key }) } } }) as never
    const { publish, pass, system, starts, deploy } = await aLimitedWorld(limitsOf(1, 24 * HOUR))
    for (const key of keys(20)) await publish({ key })
    await pass(5 * MINUTE)
    Object.assign(system.messages, { continueJobs: async () => [] })

    deploy(limitsOf(1_000, SECOND))
    await pass(2 * MINUTE)

    expect(starts).toHaveLength(20)
  })
})
