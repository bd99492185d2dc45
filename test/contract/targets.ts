import { expect, it } from 'vitest'
import { MARKER_LIFE_MS, type Marker } from '../../shared/core/worker.ts'
import { BORN, LATER_BORN } from '../support/a-task.ts'
import type { MakeStores } from './task-store.ts'

function aMarker(parts: Partial<Marker> = {}): Marker {
  return { workerId: 'w1', taskId: 'resize:k1', born: BORN, revision: 1, ...parts }
}

export function targetsContract(makeStores: MakeStores): void {
  it('shows a worker its own markers, by task id and once each', async () => {
    const { targets } = await makeStores()
    const [first, second] = [aMarker({ taskId: 'resize:a' }), aMarker({ taskId: 'résumé#:ü/#' })]

    for (const marker of [second, first, first, aMarker({ workerId: 'w2' })]) await targets.mark(marker)

    expect(await targets.of('w1', 10)).toEqual([first, second])
    expect(await targets.of('w1', 1)).toEqual([first])
    expect(await targets.of('nobody', 10)).toEqual([])
  })

  it('clears a marker that is as it was read, and may do so twice', async () => {
    const { targets } = await makeStores()
    await targets.mark(aMarker())
    await targets.mark(aMarker({ workerId: 'w2' }))

    await targets.clear(aMarker())
    await targets.clear(aMarker())

    expect(await targets.of('w1', 10)).toEqual([])
    expect(await targets.of('w2', 10)).toHaveLength(1)
  })

  it.each([
    ['revision', { revision: 2 }],
    ['birth', { born: LATER_BORN }],
  ])('keeps a marker that was meanwhile written for another %s', async (_name, later) => {
    const { targets } = await makeStores()
    await targets.mark(aMarker())
    await targets.mark(aMarker(later))

    await targets.clear(aMarker())

    expect(await targets.of('w1', 10)).toEqual([aMarker(later)])
  })

  it('leaves out what has expired, until it is written again', async () => {
    const { targets, clock } = await makeStores()
    await targets.mark(aMarker())

    await clock.advance(MARKER_LIFE_MS)
    const expired = await targets.of('w1', 10)
    await targets.mark(aMarker())

    expect(expired).toEqual([])
    expect(await targets.of('w1', 10)).toHaveLength(1)
  })
}
