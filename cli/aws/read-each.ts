import pLimit from 'p-limit'

/** Reads the state of each item, `atOnce` at a time. The states have the order of the items. The first error ends it. */
export async function readEach<Item, State>(
  items: readonly Item[],
  atOnce: number,
  read: (item: Item) => Promise<State>,
): Promise<State[]> {
  const limit = pLimit(atOnce)
  return limit.map(items, read).finally(limit.clearQueue)
}
