import { expect, it } from 'vitest'
import { HOUR, NOW } from '../support/a-task.ts'
import type { MakeStores } from './task-store.ts'

export function recordsContract(makeStores: MakeStores): void {
  it('keeps the last word under a name', async () => {
    const { records } = await makeStores()

    await records.put('sweep#a', { id: 'x', sort: 1 }, NOW + HOUR)
    await records.put('sweep#a', null, NOW + HOUR)
    await records.put('sweep#b', ['𝄞', ''], NOW + HOUR)

    expect(await records.get('sweep#a')).toBeNull()
    expect(await records.get('sweep#b')).toEqual(['𝄞', ''])
    expect(await records.get('sweep#c')).toBeUndefined()
  })

  it('counts an expired record as gone', async () => {
    const { records, clock } = await makeStores()
    await records.put('answer', 1, NOW + HOUR)

    await clock.advance(HOUR)

    expect(await records.get('answer')).toBeUndefined()
  })
}
