import { forEachConcurrently } from '../bulk/for-each.ts'

/** Reads the state of each item, `atOnce` at a time. The states have the order of the items. */
export async function readEach<Item, State>(
  items: readonly Item[],
  atOnce: number,
  read: (item: Item) => Promise<State>,
): Promise<State[]> {
  const states: State[] = []
  const withoutEnd = new AbortController().signal
  await forEachConcurrently(items.entries(), atOnce, withoutEnd, async ([at, item]) => {
    states[at] = await read(item)
  })
  return states
}
