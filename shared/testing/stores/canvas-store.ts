import type { CanvasName, CanvasStore } from '../../ports/stores.ts'

/** Stores the ends of canvases' members in memory. */
export function createMemoryCanvasStore(): CanvasStore {
  const chunks = new Map<string, { ok: Set<number>; bad: Set<number> }>()
  const shown = (key: string) => {
    const { ok = new Set<number>(), bad = new Set<number>() } = chunks.get(key) ?? {}
    return { ok: inOrder(ok), bad: inOrder(bad) }
  }
  return {
    addEnds: async (canvas, chunk, { ok, bad }) => {
      const key = keyOf(canvas, chunk)
      const before = shown(key)
      chunks.set(key, { ok: new Set([...before.ok, ...ok]), bad: new Set([...before.bad, ...bad]) })
      return shown(key)
    },
    ends: async (canvas, wanted) => new Map(wanted.map(chunk => [chunk, shown(keyOf(canvas, chunk))])),
  }
}

function keyOf({ canvasId, born }: CanvasName, chunk: number): string {
  return `${canvasId}\n${born}\n${chunk}`
}

function inOrder(leaves: Iterable<number>): number[] {
  return [...leaves].sort((a, b) => a - b)
}
