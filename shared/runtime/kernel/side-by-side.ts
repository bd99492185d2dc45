/** Does `work` on all items, at most `most` at a time; results in the items' order. The first error ends it. */
export async function sideBySide<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  const left = items.entries()
  const lane = async () => {
    for (const [index, item] of left) results[index] = await work(item, index)
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane))
  return results
}

/**
 * As `sideBySide`, but items of one name one after the other: the first of a batch is the one that counts. Items
 * without a name concern nobody else.
 */
export async function sideBySideByName<Item, Result>(
  items: readonly Item[],
  most: number,
  nameOf: (item: Item) => string | undefined,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  const groups = Map.groupBy(items.entries(), ([index, item]) => nameOf(item) ?? index)
  await sideBySide([...groups.values()], most, async group => {
    for (const [index, item] of group) results[index] = await work(item, index)
  })
  return results
}
