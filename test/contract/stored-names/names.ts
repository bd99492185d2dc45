/** Names by group; each group is a section of the snapshot. */
export type Names = {
  /** Adds a name to a group; adding it again changes nothing. */
  add(group: string, name: string): void
  /** The groups in order, each with its names in order. */
  groups(): ReadonlyMap<string, readonly string[]>
}

export function createNames(): Names {
  const groups = new Map<string, Set<string>>()
  return {
    add: (group, name) => {
      const names = groups.get(group) ?? new Set()
      groups.set(group, names.add(name))
    },
    groups: () => {
      const sorted = [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
      return new Map(sorted.map(([group, names]) => [group, [...names].toSorted()]))
    },
  }
}

/** Maps whose keys are data, such as fences and the ids of workers. */
const KEYED_BY_DATA = ['live', 'ended', 'failuresBy', 'retryAtBy', 'permits', 'tags', 'typesSeen']
/** Values that callers choose. Their members are not names of the system. */
const OF_USERS = ['input', 'result', 'params', 'value', 'progress', 'tags', 'values']

/** Calls `each` with the path of every member, however deep, and with the value of those that hold no others. */
export function walk(value: unknown, path: string, each: (path: string, leaf?: unknown) => void): void {
  const isPlain = typeof value !== 'object' || value === null || value instanceof Set
  if (path !== '') each(path, isPlain ? value : undefined)
  if (isPlain) return
  for (const [below, member] of membersOf(value, path)) walk(member, below, each)
}

function membersOf(value: object, path: string): Array<readonly [string, unknown]> {
  const last = path.split('.').at(-1) ?? ''
  if (OF_USERS.includes(last)) return []
  if (Array.isArray(value)) return value.map(member => [`${path}[]`, member] as const)
  const isKeyedByData = KEYED_BY_DATA.includes(last)
  return Object.entries(value).map(([name, member]) => {
    const segment = isKeyedByData ? '*' : plainSegment(name)
    return [path === '' ? segment : `${path}.${segment}`, member] as const
  })
}

/** A key of a map without the data in it: a fence, the position of a step, a holder, a worker. */
export function plainSegment(name: string): string {
  if (/^\d+$/.test(name)) return '*'
  return name.replace(/^(h)?~.*/, '$1~*')
}

/** First words of the names of records. */
const RECORDS = [
  'sweep',
  'bulk',
  'open',
  'running',
  'undoing',
  'canvas',
  'schedule',
  'claims',
  'minute',
  'targets',
  'purge',
]

/** A key without the ids in it: `in#01KDX….1.0` becomes `in#*`. */
export function plainKey(key: string): string {
  const [prefix = '', ...rest] = key.split('#')
  return [prefix, ...rest.map(part => (RECORDS.includes(part) ? part : '*'))].join('#')
}
