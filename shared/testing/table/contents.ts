import type { Item } from '../../aws/dynamo/documents.ts'
import { INDEXES, PRIMARY_KEY, TTL_ATTRIBUTE } from '../../aws/dynamo/keys.ts'
import { compared } from './values.ts'

export type Key = { readonly pk: string; readonly sk: string }

/** How a write has changed one item, as the table's stream reports it. */
export type ItemChange = {
  readonly key: Key
  readonly before: Item | undefined
  readonly after: Item | undefined
}

/** The copies that show a write with a lag: each index, and the items that reads see which are not strongly consistent. */
export type Replica = keyof typeof INDEXES | 'reads'

export type ContentSettings = {
  /** Called during each write of an item, before the write returns. */
  readonly onWrite?: (change: ItemChange) => void
  /** Shows a change in each replica, which may be later. @default at once */
  readonly spread?: (change: ItemChange, show: Readonly<Record<Replica, SortedItems['move']>>) => void
}

export type Contents = ReturnType<typeof createContents>

export function createContents({ onWrite, spread = atOnce }: ContentSettings) {
  const stored = createSortedItems(PRIMARY_KEY)
  const reads = spread === atOnce ? stored : createSortedItems(PRIMARY_KEY)
  const { view, place, owner } = INDEXES
  const indexes = {
    view: createSortedItems(view),
    place: createSortedItems(place),
    owner: createSortedItems(owner),
  }
  const show = {
    view: indexes.view.move,
    place: indexes.place.move,
    owner: indexes.owner.move,
    reads: reads === stored ? () => undefined : reads.move,
  }
  const write = (change: ItemChange) => {
    stored.move(change.before, change.after)
    spread(change, show)
    onWrite?.(change)
  }
  return {
    stored,
    reads,
    indexes,
    write,
    find: stored.find,
    /** All items of the table. */
    items: stored.all,
    /** Deletes an item whose time to live has passed. */
    expire: ({ pk, sk }: Key, now: number) => {
      const before = stored.find(pk, sk)
      const ttl = before?.[TTL_ATTRIBUTE]
      if (typeof ttl === 'number' && ttl * 1_000 <= now) write({ key: { pk, sk }, before, after: undefined })
    },
  }
}

const atOnce: NonNullable<ContentSettings['spread']> = ({ before, after }, show) => {
  for (const move of Object.values(show)) move(before, after)
}

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

function createSortedItems(names: KeyNames): SortedItems {
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
    const isStored = items[at] !== undefined && order(items[at], before, names) === 0
    if (isStored) items[at] = after
    return isStored
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
