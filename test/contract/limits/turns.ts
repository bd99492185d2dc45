import { expect, it } from 'vitest'
import { HOUR, NOW } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

const EXPIRES = NOW + HOUR
const from = (front: number, count = 1) => ({ front, count, far: front + 100 })

export function turnsContract(makeStores: MakeStores): void {
  it('reserves turns from the front for a new tenant, and then after its last turn', async () => {
    const { turns } = await makeStores()

    const before = await turns.of('resize##a')
    const joined = await turns.join('resize##a', from(50, 3), EXPIRES)
    const advanced = await turns.advance('resize##a', 2, EXPIRES)

    expect([before, joined]).toEqual([undefined, undefined])
    expect(advanced).toEqual({ last: 54, joined: 50 })
    expect(await turns.of('resize##a')).toEqual({ last: 54, joined: 50 })
    expect(await turns.of('resize##b')).toBeUndefined()
  })

  it('lets a tenant join again only when its turns lie before the front, or when it joined too far ahead', async () => {
    const { turns } = await makeStores()
    await turns.join('resize##a', from(50, 3), EXPIRES)

    const refused = await turns.join('resize##a', from(52), EXPIRES)
    const behind = await turns.join('resize##a', from(60), EXPIRES)
    await turns.join('resize##b', from(1_000), EXPIRES)
    const tooFar = await turns.join('resize##b', from(60), EXPIRES)

    expect(refused).toEqual({ last: 52, joined: 50 })
    expect([behind, tooFar]).toEqual([undefined, undefined])
    expect(await turns.of('resize##a')).toEqual({ last: 60, joined: 60 })
    expect(await turns.of('resize##b')).toEqual({ last: 60, joined: 60 })
  })

  it('reserves different turns for many callers at once', async () => {
    const { turns } = await makeStores()
    await turns.join('resize##a', from(1), EXPIRES)

    const last = await Promise.all(Array.from({ length: 10 }, () => turns.advance('resize##a', 2, EXPIRES)))

    expect(last.map(one => one.last).sort((a, b) => a - b)).toEqual([3, 5, 7, 9, 11, 13, 15, 17, 19, 21])
  })

  it('keeps the latest front of a line', async () => {
    const { turns } = await makeStores()

    const none = await turns.front('resize#')
    for (const turn of [5, 9, 7]) await turns.noteFront('resize#', turn, EXPIRES)

    expect([none, await turns.front('resize#')]).toEqual([undefined, 9])
    expect(await turns.front('resize#3')).toBeUndefined()
  })
}
