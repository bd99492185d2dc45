/** A batch of the stream: the positions of all its records in order, and those of the records that Lambda must deliver again. */
export type Batch = { readonly positions: readonly string[]; readonly failed: readonly string[] }

/**
 * The changes of a batch that count now. Lambda delivers a batch again from its first failed record on, so only the records before
 * that one count, and the rest counts at a later delivery. A change counts once, unless the process dies before Lambda has its answer.
 */
export function countableChanges<Change extends { readonly position: string }>(
  changes: readonly Change[],
  { positions, failed }: Batch,
): Change[] {
  const first = positions.findIndex(position => failed.includes(position))
  const countable = new Set(first < 0 ? positions : positions.slice(0, first))
  return changes.filter(({ position }) => countable.has(position))
}
