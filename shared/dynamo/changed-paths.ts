import type { HeadItem } from './items.ts'
import type { Item } from './stored-form.ts'

/** A path into an item: an attribute, and keys of maps below it. */
export type Path = readonly string[]

export type ChangedPaths = {
  readonly set: ReadonlyArray<readonly [Path, unknown]>
  readonly remove: readonly Path[]
}

/**
 * Maps that several writers change side by side, and how many levels of keys are paths of their own: a run's lease is
 * moved by its heartbeats while others change the rest.
 */
const MAP_LEVELS: Readonly<Partial<Record<keyof HeadItem, number>>> = { live: 2, ended: 1, failuresBy: 1 }

/**
 * What must be written to make `after` of `before`: exactly the paths that differ, and `always`, which may differ in
 * the store though they do not here. A map that is absent or empty in one of the two is written or removed whole: a path
 * into a map that is not there is refused.
 */
export function changedPaths(before: Item, after: Item, always: readonly string[] = []): ChangedPaths {
  const set: Array<readonly [Path, unknown]> = []
  const remove: Path[] = []

  const compare = (path: Path, from: unknown, to: unknown, levels: number) => {
    if (levels > 0 && hasEntries(from) && hasEntries(to)) return descend(path, from, to, levels - 1)
    const isFixed = path.length === 1 && always.includes(path[0] ?? '')
    if (!isFixed && JSON.stringify(from) === JSON.stringify(to)) return
    if (to === undefined) remove.push(path)
    else set.push([path, to])
  }
  const descend = (path: Path, from: Item, to: Item, levels?: number) => {
    const names = new Set([...Object.keys(from), ...Object.keys(to), ...(levels === undefined ? always : [])])
    for (const name of names) {
      compare([...path, name], from[name], to[name], levels ?? MAP_LEVELS[name as keyof HeadItem] ?? 0)
    }
  }

  descend([], before, after)
  return { set, remove }
}

function hasEntries(value: unknown): value is Item {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMap && Object.keys(value).length > 0
}
