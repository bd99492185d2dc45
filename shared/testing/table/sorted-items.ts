import type { Item } from '../../aws/dynamo/stored-form.ts'
import { compared } from './values.ts'

/** The names of the attributes by which items are found: a partition, and the order within it. */
export type KeyNames = { readonly partition: string; readonly sort: string }

/**
 * Items by partition, in the order of their sort keys, as a table or one of its indexes keeps them. Items with one sort key are in the
 * order of their primary keys. An item that lacks an attribute of the key is left out.
 */
export type SortedItems = {
  /** Puts `after` in the place of `before`. */
  move(before: Item | undefined, after: Item | undefined): void
  find(partition: string, sort: string): Item | undefined
  in(partition: string): readonly Item[]
  all(): Iterable<Item>
}

export function createSortedItems(names: KeyNames): SortedItems {
  const partitions = new Map<string, Item[]>()
  const partitionOf = (item: Item) =>
    item[names.sort] === undefined ? undefined : (item[names.partition] as string | undefined)
  const take = (item: Item) => {
    const partition = partitionOf(item)
    const items = partition === undefined ? undefined : partitions.get(partition)
    if (!items || partition === undefined) return
    const at = positionIn(items, item, names)
    if (items[at] && order(items[at], item, names) === 0) items.splice(at, 1)
    if (items.length === 0) partitions.delete(partition)
  }
  const put = (item: Item) => {
    const partition = partitionOf(item)
    if (partition === undefined) return
    const items = partitions.get(partition)
    if (!items) partitions.set(partition, [item])
    else items.splice(positionIn(items, item, names), 0, item)
  }
  const replace = (before: Item, after: Item) => {
    const items = partitions.get(partitionOf(after) ?? '') ?? []
    const at = positionIn(items, before, names)
    const isThere = items[at] !== undefined && order(items[at], before, names) === 0
    if (isThere) items[at] = after
    return isThere
  }
  const isSamePosition = (before: Item, after: Item) =>
    partitionOf(before) !== undefined &&
    partitionOf(before) === partitionOf(after) &&
    order(before, after, names) === 0
  return {
    move: (before, after) => {
      if (before && after && isSamePosition(before, after) && replace(before, after)) return
      if (before) take(before)
      if (after) put(after)
    },
    find: (partition, sort) => {
      const items = partitions.get(partition) ?? []
      const item = items[firstFrom(items, one => compared(one[names.sort] as string, sort) >= 0)]
      return item?.[names.sort] === sort ? item : undefined
    },
    in: partition => partitions.get(partition) ?? [],
    all: function* () {
      for (const items of partitions.values()) yield* items
    },
  }
}

/** The order of two items of one partition. Negative when the first comes first. */
export function order(one: Item, other: Item, { sort }: KeyNames): number {
  return (
    compared(one[sort] as string, other[sort] as string) ||
    compared(one.pk as string, other.pk as string) ||
    compared(one.sk as string, other.sk as string)
  )
}

function positionIn(items: readonly Item[], item: Item, names: KeyNames): number {
  return firstFrom(items, one => order(one, item, names) >= 0)
}

/** The index of the first item for which `isIn` holds. It holds for all items after such a one. */
export function firstFrom(items: readonly Item[], isIn: (item: Item) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items[middle]
    if (item && isIn(item)) high = middle
    else low = middle + 1
  }
  return low
}
