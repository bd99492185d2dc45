import { beforeEach, expect, it } from 'vitest'
import { holderIn } from '../../../shared/core/limits/limits.ts'
import { HOUR, NOW } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

const holder = (name: string, since = NOW) => ({ holder: name, taskId: `resize:${name}`, since })
const log = (...parts: number[]) => ({
  limit: 50,
  perMs: 1_000,
  counts: parts.map(part => [part, 2] as const),
  granted: 2 * parts.length,
})

const SLOTS = { kind: 'slot', limit: 'resize=ü' } as const
const noteAt = (lookAt: number) => ({
  ...{ lookAt, isClosed: true, emptyLooks: 1 },
  sent: [
    { at: NOW, times: 1, count: 3, granted: 7, ids: ['1a', '2b'] },
    { at: NOW, times: 2, count: 1, granted: 7, ids: [] },
  ],
})

export function limitsContract(makeStores: MakeStores): void {
  let limits: Awaited<ReturnType<MakeStores>>['limits']
  beforeEach(async () => {
    limits = (await makeStores()).limits
  })

  it('replaces the slot log only over the version that was read', async () => {
    const none = await limits.slots('resize=a')
    const first = await limits.putSlots('resize=a', log(1, 2), none, { expiresAt: NOW + HOUR })
    const late = await limits.putSlots('resize=a', log(9), none, { expiresAt: NOW + HOUR })
    const seen = await limits.slots('resize=a')
    const second = await limits.putSlots('resize=a', log(1, 2, 3), seen, { expiresAt: NOW + HOUR })

    expect(none).toEqual({ log: undefined, version: 0 })
    expect([first, second]).toEqual([undefined, undefined])
    expect(late).toEqual({ log: log(1, 2), version: 1 })
    expect(await limits.slots('resize=a')).toEqual({ log: log(1, 2, 3), version: 2 })
    expect(await limits.slots('resize=b')).toEqual({ log: undefined, version: 0 })
  })

  it('accepts one of several equal logs that are put at once', async () => {
    const none = await limits.slots('resize')

    const put = await Promise.all(
      [1, 2, 3].map(() => limits.putSlots('resize', log(1), none, { expiresAt: NOW + HOUR })),
    )

    expect(put.filter(one => one === undefined)).toHaveLength(1)
  })

  it('grants `max` permits, confirms a permit to its holder, and grants a released permit to another holder', async () => {
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
    const names = Array.from({ length: 12 }, (_, nth) => `w${nth}`)

    const given = await Promise.all(names.map(name => limits.acquire('resize', holder(name), 5)))

    expect(given.filter(one => one === undefined)).toHaveLength(5)
    expect((await limits.permits('resize', [0])).holders).toHaveLength(5)
  })

  it('applies a smaller limit to new holders and takes no permit away', async () => {
    for (const name of ['a', 'b', 'c']) await limits.acquire('resize', holder(name), 3)

    const refused = await limits.acquire('resize', holder('d'), 1)

    expect(refused?.holders).toHaveLength(3)
  })

  it('removes a holder that was recorded at the given time, unless it was renewed since', async () => {
    for (const name of ['a', 'b']) await limits.acquire('resize', holder(name), 2)

    const kept = await limits.renew('resize', 'a', NOW + 7)
    await limits.release('resize', 'a', NOW)
    await limits.release('resize', 'b', NOW)

    expect(kept).toBe(true)
    expect(await limits.permits('resize', [0])).toEqual({ holders: [holder('a', NOW + 7)] })
    expect(await limits.renew('resize', 'b', NOW + 7)).toBe(false)
  })

  it('replaces the note of a line only over the version that was read, and keeps the two lines of a name apart', async () => {
    const none = await limits.line(SLOTS)

    const first = await limits.putLine(SLOTS, noteAt(NOW), none, { isNoted: true })
    const late = await limits.putLine(SLOTS, noteAt(NOW + 9), none)
    const seen = await limits.line(SLOTS)
    const second = await limits.putLine(SLOTS, noteAt(NOW + 1_000), seen)

    expect(none).toEqual({ note: undefined, version: 0 })
    expect([first, second]).toEqual([undefined, undefined])
    expect(late).toEqual({ note: noteAt(NOW), version: 1 })
    expect(await limits.line(SLOTS)).toEqual({ note: noteAt(NOW + 1_000), version: 2 })
    expect(await limits.line({ ...SLOTS, kind: 'permit' })).toEqual({ note: undefined, version: 0 })
  })

  it('ends only the line that was seen', async () => {
    await limits.putLine(SLOTS, noteAt(NOW), { note: undefined, version: 0 })
    const seen = await limits.line(SLOTS)
    await limits.putLine(SLOTS, noteAt(NOW + 1), seen)

    await limits.endLine(SLOTS, seen)
    const kept = await limits.line(SLOTS)
    await limits.endLine(SLOTS, kept)

    expect(kept.note).toEqual(noteAt(NOW + 1))
    expect((await limits.line(SLOTS)).note).toBeUndefined()
  })

  it('lists the lines whose next look is late, each once, however often they were looked at', async () => {
    const lines = ['a', 'b', 'c'].map(value => ({ kind: 'permit' as const, limit: `resize=${value}#1` }))
    for (const [nth, line] of lines.entries()) {
      const none = { note: undefined, version: 0 }
      await limits.putLine(line, noteAt(NOW), none)
      await limits.putLine(line, noteAt(NOW + nth * 60_000), await limits.line(line))
    }

    const overdue = (before: number) => limits.overdueLines(before, 10)
    expect((await overdue(NOW + 80_000)).map(({ limit }) => limit).sort()).toEqual([
      'resize=a#1',
      'resize=b#1',
    ])
    expect(await overdue(NOW + 20_000)).toEqual([lines[0]])
    expect(await overdue(NOW - 1)).toEqual([])
    expect(await limits.overdueLines(NOW + 80_000, 1)).toHaveLength(1)
  })

  it('counts the holders of each shard apart, and shows the shards that are asked for', async () => {
    const inShard = (shard: number, nth: number) => holder(holderIn(shard, `abcdefghi${nth}`))
    const first = inShard(0, 1)
    const others = [inShard(2, 1), inShard(2, 2), inShard(12, 1)]

    const given = [first, ...others].map(one => limits.acquire('resize=a#1', one, 2))
    expect(await Promise.all(given)).toEqual([undefined, undefined, undefined, undefined])

    const refused = await limits.acquire('resize=a#1', inShard(2, 3), 2)
    const left = await limits.release('resize=a#1', others[0]?.holder ?? '')
    const kept = await limits.renew('resize=a#1', others[2]?.holder ?? '', NOW + 5)

    expect(refused?.holders).toHaveLength(2)
    expect(left).toEqual({ holders: [others[1]] })
    expect(kept).toBe(true)
    expect(await limits.permits('resize=a#1', [0])).toEqual({ holders: [first] })
    expect(await limits.permits('resize=a#1', [2, 5])).toEqual({ holders: [others[1]] })
    const many = Array.from({ length: 125 }, (_, shard) => shard)
    const all = await limits.permits('resize=a#1', many)
    expect(all.holders).toHaveLength(3)
    expect(all.holders).toContainEqual({ ...others[2], since: NOW + 5 })
    expect(await limits.permits('resize', many)).toEqual({ holders: [] })
  })
}
