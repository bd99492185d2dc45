/** Parameters that may be repeated, and those that are numbers; all others are single texts. */
const LISTS = ['status']
const NUMBERS = ['limit']

/** The query as the members of an object; one that is repeated but may not be stays a list, which no schema takes. */
export function readQuery(search: URLSearchParams): Record<string, unknown> {
  const names = [...new Set(search.keys())]
  return Object.fromEntries(names.map(name => [name, membersOf(name, search.getAll(name))]))
}

function membersOf(name: string, values: readonly string[]): unknown {
  if (LISTS.includes(name)) return values
  const [first = ''] = values
  if (values.length > 1) return values
  return NUMBERS.includes(name) && /^-?\d{1,15}$/.test(first) ? Number(first) : first
}
