/** Groups items by a key, in the order of each key's first item. `Map.groupBy` would need Node 21, and users' tests run on Node 20. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** One item for each group: the items of the group, added up by `sum`. */
export function groupSums<Item>(
  items: Iterable<Item>,
  groupOf: (item: Item) => string,
  sum: (one: Item, other: Item) => Item,
): Item[] {
  return [...groupBy(items, groupOf).values()].map(group => group.reduce(sum))
}

/** The record with `change` applied to each member. */
export function eachMember<From, To>(
  record: Readonly<Record<string, From>>,
  change: (member: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, member]) => [name, change(member, name)]))
}

/** The members of the record that `isKept` accepts. */
export function membersWhere<Member>(
  record: Readonly<Record<string, Member>>,
  isKept: (member: Member, name: string) => boolean,
): Record<string, Member> {
  return Object.fromEntries(Object.entries(record).filter(([name, member]) => isKept(member, name)))
}
