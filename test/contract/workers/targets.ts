import { expect, it } from 'vitest'
import { MARKER_LIFE_MS, type Marker } from '../../../shared/core/worker.ts'
import type { Targets } from '../../../shared/ports/stores.ts'
import { BORN, LATER_BORN } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

function aMarker(parts: Partial<Marker> = {}): Marker {
  return { workerId: 'w1', taskId: 'resize:k1', born: BORN, revision: 1, ...parts }
}

async function of(targets: Targets, workerId: string): Promise<readonly Marker[]> {
  return (await targets.of(workerId, { limit: 10 })).markers
}

/** Reads all pages. Returns the task ids on each. */
async function pagesOf(targets: Targets, workerId: string, query: { type?: string; limit: number }) {
  const pages: string[][] = []
  for (let after: string | undefined; ; ) {
    const { markers, next } = await targets.of(workerId, { ...query, ...(after !== undefined && { after }) })
    if (markers.length > 0) pages.push(markers.map(({ taskId }) => taskId))
    if (next === undefined) return pages
    after = next
  }
}

export function targetsContract(makeStores: MakeStores): void {
  it('returns the markers of one worker by task id, each once', async () => {
    const { targets } = await makeStores()
    const [first, second] = [aMarker({ taskId: 'resize:a' }), aMarker({ taskId: 'résumé#:ü/#' })]

    for (const marker of [second, first, first, aMarker({ workerId: 'w2' })]) await targets.mark(marker)

    expect(await of(targets, 'w1')).toEqual([first, second])
    expect(await of(targets, 'nobody')).toEqual([])
  })

  it('returns markers page by page, and only those of one type when asked', async () => {
    const { targets } = await makeStores()
    const ids = ['crop:1', 'resize.big:1', 'resize:1', 'resize:2', 'resize:3', 'resize_:1', 'sort:1']
    for (const taskId of ids) await targets.mark(aMarker({ taskId }))

    const all = await pagesOf(targets, 'w1', { limit: 3 })
    const ofType = await pagesOf(targets, 'w1', { type: 'resize', limit: 2 })
    const ofNone = await pagesOf(targets, 'w1', { type: 'res', limit: 2 })

    expect(all).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
    expect(ofType).toEqual([['resize:1', 'resize:2'], ['resize:3']])
    expect(ofNone).toEqual([])
  })

  it('continues after a marker that was cleared meanwhile', async () => {
    const { targets } = await makeStores()
    for (const n of [1, 2, 3]) await targets.mark(aMarker({ taskId: `resize:${n}` }))
    const { markers, next } = await targets.of('w1', { type: 'resize', limit: 1 })

    for (const marker of markers) await targets.clear(marker)
    const rest = await targets.of('w1', { type: 'resize', after: next ?? '', limit: 10 })

    expect(next).toBe('resize:1')
    expect(rest.markers.map(({ taskId }) => taskId)).toEqual(['resize:2', 'resize:3'])
  })

  it('reads which of many markers exist', async () => {
    const { targets, clock } = await makeStores()
    await targets.mark(aMarker({ taskId: 'resize:expired' }))
    await clock.advance(MARKER_LIFE_MS)
    const stored = Array.from({ length: 130 }, (_, n) =>
      aMarker({ workerId: `w${n % 7}`, taskId: `resize:${n}` }),
    )
    await Promise.all(stored.map(marker => targets.mark(marker)))

    const asked = stored.map(marker => ({ ...marker, born: LATER_BORN, revision: 9 }))
    const missing = [aMarker({ workerId: 'nobody' }), aMarker({ taskId: 'resize:expired' })]
    const there = await targets.among([...asked, ...missing, ...asked.slice(0, 5)])

    const byTask = (a: Marker, b: Marker) => (a.taskId < b.taskId ? -1 : 1)
    expect(there.toSorted(byTask)).toEqual(stored.toSorted(byTask))
    expect(await targets.among([])).toEqual([])
  })

  it('clears a marker that is stored as it was read, and may be called twice', async () => {
    const { targets } = await makeStores()
    await targets.mark(aMarker())
    await targets.mark(aMarker({ workerId: 'w2' }))

    await targets.clear(aMarker())
    await targets.clear(aMarker())

    expect(await of(targets, 'w1')).toEqual([])
    expect(await of(targets, 'w2')).toHaveLength(1)
  })

  it.each([
    ['revision', { revision: 2 }],
    ['birth', { born: LATER_BORN }],
  ])('keeps a marker that was written for another %s since it was read', async (_name, later) => {
    const { targets } = await makeStores()
    await targets.mark(aMarker())
    await targets.mark(aMarker(later))

    await targets.clear(aMarker())

    expect(await of(targets, 'w1')).toEqual([aMarker(later)])
  })

  it('leaves out an expired marker until it is written again', async () => {
    const { targets, clock } = await makeStores()
    await targets.mark(aMarker())

    await clock.advance(MARKER_LIFE_MS)
    const expired = await of(targets, 'w1')
    await targets.mark(aMarker())

    expect(expired).toEqual([])
    expect(await of(targets, 'w1')).toHaveLength(1)
  })
}
