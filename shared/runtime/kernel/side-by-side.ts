import { groupBy } from '../../core/values/records.ts'

/**
 * Does `work` on all items, at most `most` at a time, and returns the results in the items' order. Rejects at the first
 * error.
 */
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
 * Like `sideBySide`, but items with the same name are worked on one after the other, so that the first of them wins. Items
 * without a name are independent of all others.
 */
export async function sideBySideByName<Item, Result>(
  items: readonly Item[],
  most: number,
  nameOf: (item: Item) => string | undefined,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  const groups = groupBy(items.entries(), ([index, item]) => nameOf(item) ?? index)
  await sideBySide([...groups.values()], most, async group => {
    for (const [index, item] of group) results[index] = await work(item, index)
  })
  return results
}
