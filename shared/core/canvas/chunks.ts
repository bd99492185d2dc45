/** Leaves whose ends are stored in one item. Even when the item is full, adding an end to it costs one write unit. */
export const CHUNK_LEAVES = 200

export function chunkOf(leaf: number): number {
  return Math.floor(leaf / CHUNK_LEAVES)
}

/** The chunks of the leaves from `from` up to, but without, `to`. */
export function chunksOf({ from, to }: { readonly from: number; readonly to: number }): number[] {
  const first = chunkOf(from)
  return Array.from({ length: chunkOf(Math.max(from, to - 1)) - first + 1 }, (_, index) => first + index)
}
