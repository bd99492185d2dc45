/** How many leaves have their ends stored in one item. Adding an end costs one write unit, even when the item is nearly full. */
export const CHUNK_LEAVES = 200

export function chunkOf(leaf: number): number {
  return Math.floor(leaf / CHUNK_LEAVES)
}

/** The numbers of the chunks that hold the leaves from `from` up to, but without, `to`. */
export function chunksOf({ from, to }: { readonly from: number; readonly to: number }): number[] {
  const first = chunkOf(from)
  return Array.from({ length: chunkOf(Math.max(from, to - 1)) - first + 1 }, (_, index) => first + index)
}
