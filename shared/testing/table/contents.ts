import { INDEXES, PRIMARY_KEY, TTL_ATTRIBUTE } from '../../aws/dynamo/keys.ts'
import type { Item } from '../../aws/dynamo/stored-form.ts'
import { createSortedItems, type SortedItems } from './sorted-items.ts'

export type Key = { readonly pk: string; readonly sk: string }

/** What a write made of one item, as the table's stream reports it. */
export type ItemChange = {
  readonly key: Key
  readonly before: Item | undefined
  readonly after: Item | undefined
}

/** What shows a write with a lag: each index, and the reads of the table that are not strongly consistent. */
export type Replica = keyof typeof INDEXES | 'reads'

export type ContentSettings = {
  /** Called at the very instant of each write of an item. */
  readonly onWrite?: (change: ItemChange) => void
  /** Shows a change in each replica, which may be later. @default at once */
  readonly spread?: (change: ItemChange, show: Readonly<Record<Replica, SortedItems['move']>>) => void
}

/** The items of a table and of its indexes. */
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
