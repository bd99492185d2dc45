/** A path into an item: an attribute, then keys of maps below it. */
export type Path = readonly string[]

/** The paths that an update sets, with their values, and the paths that it removes. */
export type ChangedPaths = {
  readonly set: ReadonlyArray<readonly [Path, unknown]>
  readonly remove: readonly Path[]
}

/** An expression, or a part of one, with the names and values that it uses. */
export type Expression = {
  readonly text: string
  readonly names: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
}

export const JOINED_BY_AND = ' AND '

/** The update expression that writes the paths. Each name and value is written once, as `#n0…` and `:v0…`. */
export function updateExpression({ set, remove }: ChangedPaths): Expression {
  const aliases = new Map<string, string>()
  const aliasOf = (name: string) => {
    const alias = aliases.get(name) ?? `#n${aliases.size}`
    aliases.set(name, alias)
    return alias
  }
  const textOf = (path: Path) => path.map(aliasOf).join('.')
  const sets = set.map(([path], index) => `${textOf(path)} = :v${index}`)
  const removes = remove.map(textOf)
  const parts = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(removes.length > 0 ? [`REMOVE ${removes.join(', ')}`] : []),
  ]
  return {
    text: parts.join(' '),
    names: Object.fromEntries([...aliases].map(([name, alias]) => [alias, name])),
    values: Object.fromEntries(set.map(([, value], index) => [`:v${index}`, value])),
  }
}
