import { expect, it } from 'vitest'
import type { FailureCount } from '../../shared/core/events/failures.ts'
import { HOUR } from '../support/tasks/a-task.ts'
import type { MakeStores } from './task-store.ts'

/** A time at the beginning of an hour, later than any that the stores' clocks show. */
const FROM = 4_000_000 * HOUR

const counted = (more: Partial<FailureCount> = {}): FailureCount => ({
  type: 'resize',
  error: 'Error: no # of #',
  hour: FROM,
  count: 1,
  firstAt: FROM + 1,
  lastAt: FROM + 1,
  exampleId: 'resize:a',
  ...more,
})

export function failuresContract(makeStores: MakeStores): void {
  it('adds up the failures of one type, error and hour, and keeps the last example', async () => {
    const { failures } = await makeStores()
    await failures.add(counted({ count: 2 }))
    await failures.add(counted({ count: 3, firstAt: FROM + 5, lastAt: FROM + 9, exampleId: 'resize:b' }))

    expect(await failures.since('resize', FROM, 10)).toEqual([
      counted({ count: 5, lastAt: FROM + 9, exampleId: 'resize:b' }),
    ])
    expect(await failures.since('resiz', FROM, 10)).toEqual([])
  })

  it('shows the newest hours first, from an hour on, and no more than were asked for', async () => {
    const { failures } = await makeStores()
    const hours = [3, 1, 2].map(nth => FROM + nth * HOUR)
    for (const hour of hours) await failures.add(counted({ hour }))
    await failures.add(counted({ hour: FROM + HOUR, error: 'Error: # § ü' }))

    const shown = async (hour: number, most: number) =>
      (await failures.since('resize', hour, most)).map(one => (one.hour - FROM) / HOUR)

    expect(await shown(FROM, 10)).toEqual([3, 2, 1, 1])
    expect(await shown(FROM + 2 * HOUR, 10)).toEqual([3, 2])
    expect(await shown(FROM, 3)).toEqual([3, 2, 1])
    expect((await failures.since('resize', FROM, 10)).map(({ error }) => error)).toContain('Error: # § ü')
  })

  it('counts failures that are added at one moment', async () => {
    const { failures } = await makeStores()

    await Promise.all(Array.from({ length: 20 }, () => failures.add(counted())))

    expect(await failures.since('resize', FROM, 10)).toMatchObject([{ count: 20 }])
  })
}
