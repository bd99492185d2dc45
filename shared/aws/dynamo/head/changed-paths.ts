import { isMap } from '../codecs.ts'
import type { ChangedPaths, Path } from '../expressions.ts'
import type { Item } from '../stored-form.ts'
import { HEAD } from './items.ts'

/**
 * The paths to write so that `before` becomes `after`: exactly those that differ, and `always`, which may differ in the store
 * though they do not differ here. A map that is absent or empty on one side is written or removed whole, because DynamoDB
 * refuses a path into a missing map.
 */
export function changedPaths(before: Item, after: Item, always: readonly string[] = []): ChangedPaths {
  const set: Array<readonly [Path, unknown]> = []
  const remove: Path[] = []

  // `levels`: how many levels of keys below a path are paths of their own. `descend` without `levels` is at the top of the item.
  const compare = (path: Path, from: unknown, to: unknown, levels: number) => {
    const isByEntry = levels > 0 && hasEntries(from) && hasEntries(to) && !isWrittenWhole(path, from, to)
    if (isByEntry) return descend(path, from, to, levels - 1)
    const isAlwaysWritten = path.length === 1 && always.includes(path[0] ?? '')
    if (!isAlwaysWritten && JSON.stringify(from) === JSON.stringify(to)) return
    if (to === undefined) remove.push(path)
    else set.push([path, to])
  }
  const descend = (path: Path, from: Item, to: Item, levels?: number) => {
    const names = new Set([...Object.keys(from), ...Object.keys(to), ...(levels === undefined ? always : [])])
    for (const name of names) {
      compare([...path, name], from[name], to[name], levels ?? HEAD.paths[name]?.levels ?? 0)
    }
  }

  descend([], before, after)
  return { set, remove }
}

function isWrittenWhole([name = '', ...below]: Path, from: Item, to: Item): boolean {
  const most = below.length === 0 ? HEAD.paths[name]?.differingMax : undefined
  if (most === undefined) return false
  const entries = new Set([...Object.keys(from), ...Object.keys(to)])
  const differing = [...entries].filter(key => JSON.stringify(from[key]) !== JSON.stringify(to[key]))
  return differing.length > most
}

function hasEntries(value: unknown): value is Item {
  return isMap(value) && Object.keys(value).length > 0
}
