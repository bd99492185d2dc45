import { expect, it } from 'vitest'
import { holderIn } from '../../../shared/core/limits/held-permits.ts'
import { HOUR, NOW } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

const holder = (name: string, since = NOW) => ({ holder: name, taskId: `resize:${name}`, since })
const log = (...parts: number[]) => ({
  limit: 50,
  perMs: 1_000,
  counts: parts.map(part => [part, 2] as const),
  bookedAhead: 0,
})

export function limitsContract(makeStores: MakeStores): void {
  it('replaces the slot log only over the version that was read', async () => {
    const { limits } = await makeStores()

    const none = await limits.slots('resize=a')
    const first = await limits.putSlots('resize=a', log(1, 2), none, NOW + HOUR)
    const late = await limits.putSlots('resize=a', log(9), none, NOW + HOUR)
    const seen = await limits.slots('resize=a')
    const second = await limits.putSlots('resize=a', log(1, 2, 3), seen, NOW + HOUR)

    expect(none).toEqual({ log: undefined, version: 0 })
    expect([first, second]).toEqual([undefined, undefined])
    expect(late).toEqual({ log: log(1, 2), version: 1 })
    expect(await limits.slots('resize=a')).toEqual({ log: log(1, 2, 3), version: 2 })
    expect(await limits.slots('resize=b')).toEqual({ log: undefined, version: 0 })
  })

  it('accepts one of several equal logs that are put at once', async () => {
    const { limits } = await makeStores()
    const none = await limits.slots('resize')

    const put = await Promise.all([1, 2, 3].map(() => limits.putSlots('resize', log(1), none, NOW + HOUR)))

    expect(put.filter(one => one === undefined)).toHaveLength(1)
  })

  it('adds up the slots that all callers book ahead of a log, and begins at 0 with the next log', async () => {
    const { limits } = await makeStores()
    const none = await limits.slots('resize')
    await limits.putSlots('resize', log(1), none, NOW + HOUR)
    const early = await limits.slots('resize')

    const counted = await Promise.all(
      [1, 2, 3].map(count => limits.countSlots('resize', 1, count, NOW + HOUR)),
    )
    const strange = await limits.countSlots('resize', 2, 1, NOW + HOUR)
    const late = await limits.putSlots('resize', log(9), early, NOW + HOUR)
    const next = await limits.putSlots('resize', log(2), await limits.slots('resize'), NOW + HOUR)

    expect(Math.max(...counted.map(Number))).toBe(6)
    expect(strange).toBeUndefined()
    expect(late).toEqual({ log: { ...log(1), bookedAhead: 6 }, version: 1 })
    expect(next).toBeUndefined()
    expect(await limits.slots('resize')).toEqual({ log: log(2), version: 2 })
  })

  it('grants `max` permits, confirms a permit to its holder, and grants a released permit to another holder', async () => {
    const { limits } = await makeStores()

    const given = [
      await limits.acquire('resize', holder('a'), 2),
      await limits.acquire('resize', holder('b'), 2),
      await limits.acquire('resize', holder('a'), 2),
    ]
    const refused = await limits.acquire('resize', holder('c'), 2)
    const left = await limits.release('resize', 'a')
    const again = await limits.release('resize', 'a')
    const next = await limits.acquire('resize', holder('c'), 2)

    expect(given).toEqual([undefined, undefined, undefined])
    expect(refused?.holders.map(one => one.holder).sort()).toEqual(['a', 'b'])
    expect([left, again]).toEqual([{ holders: [holder('b')] }, { holders: [holder('b')] }])
    expect(next).toBeUndefined()
    expect(
      (await limits.permits('resize', [0])).holders.toSorted((a, b) => (a.holder < b.holder ? -1 : 1)),
    ).toEqual([holder('b'), holder('c')])
    expect(await limits.permits('other', [0])).toEqual({ holders: [] })
  })

  it('never grants more than `max` permits to many callers at once', async () => {
    const { limits } = await makeStores()
    const names = Array.from({ length: 12 }, (_, nth) => `w${nth}`)

    const given = await Promise.all(names.map(name => limits.acquire('resize', holder(name), 5)))

    expect(given.filter(one => one === undefined)).toHaveLength(5)
    expect((await limits.permits('resize', [0])).holders).toHaveLength(5)
  })

  it('applies a smaller limit to new holders and takes no permit away', async () => {
    const { limits } = await makeStores()
    for (const name of ['a', 'b', 'c']) await limits.acquire('resize', holder(name), 3)

    const refused = await limits.acquire('resize', holder('d'), 1)

    expect(refused?.holders).toHaveLength(3)
  })

  it('removes a holder that was recorded at the given time, unless it was renewed since', async () => {
    const { limits } = await makeStores()
    for (const name of ['a', 'b']) await limits.acquire('resize', holder(name), 2)

    const kept = await limits.renew('resize', 'a', NOW + 7)
    await limits.release('resize', 'a', { since: NOW })
    await limits.release('resize', 'b', { since: NOW })

    expect(kept).toBe(true)
    expect(await limits.permits('resize', [0])).toEqual({ holders: [holder('a', NOW + 7)] })
    expect(await limits.renew('resize', 'b', NOW + 7)).toBe(false)
  })

  it('notes that a task waits only while no permit is free, and not again before the note is stale', async () => {
    const { limits } = await makeStores()
    const most = { max: 1, staleAt: NOW - 1 }

    const early = await limits.noteWaiting('resize', NOW, most)
    await limits.acquire('resize', holder('a'), 1)
    const noted = await limits.noteWaiting('resize', NOW, most)
    const second = await limits.noteWaiting('resize', NOW + 1, most)
    const late = await limits.noteWaiting('resize', NOW + 9, { max: 1, staleAt: NOW })
    const seen = await limits.acquire('resize', holder('b'), 1)

    expect([early, noted]).toEqual([{ holders: [] }, undefined])
    expect(second).toEqual({ holders: [holder('a')], waitNotedAt: NOW })
    expect(late).toBeUndefined()
    expect(seen).toEqual({ holders: [holder('a')], waitNotedAt: NOW + 9 })
  })

  it('renews and clears only the note that was seen, whether or not a permit is free', async () => {
    const { limits } = await makeStores()

    const renewed = [
      await limits.renewWaiting('resize', NOW, undefined),
      await limits.renewWaiting('resize', NOW + 1, undefined),
      await limits.renewWaiting('resize', NOW + 2, NOW),
      await limits.renewWaiting('resize', NOW + 3, NOW),
    ]
    await limits.clearWaiting('resize', NOW)
    const kept = await limits.permits('resize', [0])
    await limits.clearWaiting('resize', NOW + 2)

    expect(renewed).toEqual([true, false, true, false])
    expect(kept).toEqual({ holders: [], waitNotedAt: NOW + 2 })
    expect(await limits.permits('resize', [0])).toEqual({ holders: [] })
  })

  it('counts the holders of each shard apart, and shows the shards that are asked for', async () => {
    const { limits } = await makeStores()
    const inShard = (shard: number, nth: number) => holder(holderIn(shard, `abcdefghi${nth}`))
    const first = inShard(0, 1)
    const others = [inShard(2, 1), inShard(2, 2), inShard(12, 1)]

    const given = [first, ...others].map(one => limits.acquire('resize=a#1', one, 2))
    expect(await Promise.all(given)).toEqual([undefined, undefined, undefined, undefined])

    const refused = await limits.acquire('resize=a#1', inShard(2, 3), 2)
    const left = await limits.release('resize=a#1', others[0]?.holder ?? '', { waitNotedAt: NOW })
    const kept = await limits.renew('resize=a#1', others[2]?.holder ?? '', NOW + 5)
    await limits.renewWaiting('resize=a#1', NOW, undefined)

    expect(refused?.holders).toHaveLength(2)
    expect(left).toEqual({ holders: [others[1]] })
    expect(kept).toBe(true)
    expect(await limits.permits('resize=a#1', [0])).toEqual({ holders: [first], waitNotedAt: NOW })
    expect(await limits.permits('resize=a#1', [2, 5])).toEqual({ holders: [others[1]] })
    const many = Array.from({ length: 125 }, (_, shard) => shard)
    const all = await limits.permits('resize=a#1', many)
    expect(all.waitNotedAt).toBe(NOW)
    expect(all.holders).toHaveLength(3)
    expect(all.holders).toContainEqual({ ...others[2], since: NOW + 5 })
    expect(await limits.permits('resize', many)).toEqual({ holders: [] })
  })
}
