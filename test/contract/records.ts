import { expect, it } from 'vitest'
import { HOUR, NOW } from '../support/tasks/a-task.ts'
import type { MakeStores } from './task-store.ts'

export function recordsContract(makeStores: MakeStores): void {
  it('keeps the last value under a name', async () => {
    const { records } = await makeStores()

    await records.put('sweep#a', { id: 'x', sort: 1 }, NOW + HOUR)
    await records.put('sweep#a', null, NOW + HOUR)
    await records.put('sweep#b', ['𝄞', ''], NOW + HOUR)

    expect(await records.get('sweep#a')).toBeNull()
    expect(await records.get('sweep#b')).toEqual(['𝄞', ''])
    expect(await records.get('sweep#c')).toBeUndefined()
  })

  it('puts a new record where there is none or an expired one, and otherwise returns the stored value', async () => {
    const { records, clock } = await makeStores()

    const first = await records.putNew('answer', 'first', NOW + HOUR)
    const second = await records.putNew('answer', 'second', NOW + HOUR)
    const between = await records.get('answer')
    await clock.advance(HOUR)
    const third = await records.putNew('answer', ['third'], NOW + 2 * HOUR)

    expect([first, second, third]).toEqual([undefined, 'first', undefined])
    expect([between, await records.get('answer')]).toEqual(['first', ['third']])
  })

  it('replaces a record only while it has the value that was seen', async () => {
    const { records } = await makeStores()
    const [seen, next] = [
      { page: ['a', 'b'], leftOut: {} },
      { page: [], leftOut: { changed: 1 } },
    ]
    await records.put('bulk#1', seen, NOW + HOUR)

    const outcomes = []
    for (const name of ['bulk#1', 'bulk#1', 'bulk#2'])
      outcomes.push(await records.replace(name, next, seen, NOW + HOUR))

    expect(outcomes).toEqual([true, false, false])
    expect([await records.get('bulk#1'), await records.get('bulk#2')]).toEqual([next, undefined])
  })

  it('accepts one of many new records that are put at once', async () => {
    const { records } = await makeStores()
    const names = ['a', 'b', 'c', 'd', 'e']

    const found = await Promise.all(names.map(name => records.putNew('answer', name, NOW + HOUR)))

    const winner = await records.get('answer')
    expect(found.filter(value => value === undefined)).toHaveLength(1)
    expect(found.filter(value => value === winner)).toHaveLength(names.length - 1)
  })

  it('counts an expired record as gone', async () => {
    const { records, clock } = await makeStores()
    await records.put('answer', 1, NOW + HOUR)

    await clock.advance(HOUR)

    expect(await records.get('answer')).toBeUndefined()
  })
}
