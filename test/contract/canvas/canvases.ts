import { expect, it } from 'vitest'
import type { CanvasStore } from '../../../shared/ports/stores.ts'
import { BORN, DAY, LATER_BORN, NOW } from '../../support/tasks/a-task.ts'
import type { MakeStores } from '../task-store.ts'

const CANVAS = { canvasId: 'résumé#1', born: BORN }
const UNTIL = NOW + DAY

function add(canvases: CanvasStore, chunk: number, ok: number[], bad: number[] = [], canvas = CANVAS) {
  return canvases.addEnds(canvas, chunk, { ok, bad }, UNTIL)
}

export function canvasesContract(makeStores: MakeStores): void {
  it('returns the whole chunk after an addition', async () => {
    const { canvases } = await makeStores()

    const first = await add(canvases, 2, [403, 400])
    const second = await add(canvases, 2, [], [599])

    expect(first).toEqual({ ok: [400, 403], bad: [] })
    expect(second).toEqual({ ok: [400, 403], bad: [599] })
  })

  it('changes nothing when the same leaves, or no leaves, are added', async () => {
    const { canvases } = await makeStores()
    await add(canvases, 0, [1, 2], [3])

    await add(canvases, 0, [2], [3])
    const after = await add(canvases, 0, [])

    expect(after).toEqual({ ok: [1, 2], bad: [3] })
  })

  it('reads many chunks at once, and an unknown chunk as empty', async () => {
    const { canvases } = await makeStores()
    const chunks = Array.from({ length: 130 }, (_, chunk) => chunk)
    await Promise.all(chunks.slice(0, 120).map(chunk => add(canvases, chunk, [chunk * 200 + 7])))

    const read = await canvases.ends(CANVAS, [...chunks, 3, 3])

    expect([...read.keys()].toSorted((a, b) => a - b)).toEqual(chunks)
    expect(read.get(119)).toEqual({ ok: [119 * 200 + 7], bad: [] })
    expect(read.get(120)).toEqual({ ok: [], bad: [] })
    expect(await canvases.ends(CANVAS, [])).toEqual(new Map())
  })

  it('keeps canvases and their births apart', async () => {
    const { canvases } = await makeStores()
    await add(canvases, 0, [1])

    const later = await add(canvases, 0, [2], [], { ...CANVAS, born: LATER_BORN })
    const other = await add(canvases, 0, [3], [], { ...CANVAS, canvasId: 'other' })

    expect([later.ok, other.ok]).toEqual([[2], [3]])
    expect((await canvases.ends(CANVAS, [0])).get(0)?.ok).toEqual([1])
  })

  it('loses no leaf that many callers add at once', async () => {
    const { canvases } = await makeStores()
    const leaves = Array.from({ length: 50 }, (_, leaf) => leaf)

    const answers = await Promise.all(leaves.map(leaf => add(canvases, 0, [leaf])))

    expect((await canvases.ends(CANVAS, [0])).get(0)?.ok).toEqual(leaves)
    expect(Math.max(...answers.map(({ ok }) => ok.length))).toBe(50)
  })
}
