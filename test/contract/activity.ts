import { expect, it } from 'vitest'
import type { ActivityCount } from '../../shared/core/events/activity.ts'
import { MINUTE } from '../support/tasks/a-task.ts'
import type { MakeStores } from './task-store.ts'

/** A time at the beginning of a minute, later than any that the stores' clocks show. */
const FROM = 240_000_000 * MINUTE

const counted = (more: Partial<ActivityCount> = {}): ActivityCount => ({
  type: 'resize',
  minute: FROM,
  counts: { published: 1 },
  lateness: {},
  ...more,
})

export function activityContract(makeStores: MakeStores): void {
  it('adds up what happened to the tasks of one type in one minute', async () => {
    const { activity } = await makeStores()
    await activity.add(counted({ counts: { published: 2, started: 2 }, lateness: { 3: 1, 10: 1 } }))
    await activity.add(counted({ counts: { started: 1, failed: 1 }, lateness: { 10: 1 } }))

    expect(await activity.since('resize', FROM)).toEqual([
      counted({ counts: { published: 2, started: 3, failed: 1 }, lateness: { 3: 1, 10: 2 } }),
    ])
    expect(await activity.since('resiz', FROM)).toEqual([])
  })

  it('shows the minutes from one on, oldest first', async () => {
    const { activity } = await makeStores()
    const minutes = [2, 0, 119].map(nth => FROM + nth * MINUTE)
    for (const minute of minutes) await activity.add(counted({ minute }))

    const shown = async (from: number) =>
      (await activity.since('resize', from)).map(one => (one.minute - FROM) / MINUTE)

    expect(await shown(FROM)).toEqual([0, 2, 119])
    expect(await shown(FROM + MINUTE)).toEqual([2, 119])
  })

  it('counts what is added at one moment', async () => {
    const { activity } = await makeStores()

    await Promise.all(Array.from({ length: 20 }, () => activity.add(counted())))

    expect(await activity.since('resize', FROM)).toMatchObject([{ counts: { published: 20 } }])
  })
}
