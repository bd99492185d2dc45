import type { MergedEntry } from './merge-ranges.ts'

type Line = AsyncGenerator<MergedEntry, void, undefined>

/**
 * Entries of several lines, one of each in turn, beginning with line number `first`. Among entries of different priority
 * only those of the highest take part.
 */
export async function* fairly(lines: readonly Line[], first: number): Line {
  const fronts = await Promise.all(lines.map(frontOf))
  for (let turn = first; ; turn++) {
    const best = fronts.flatMap(front => (front ? priorityOf(front) : [])).sort()[0]
    if (best === undefined) return
    const number = turn % lines.length
    const front = fronts[number]
    if (!front || priorityOf(front) !== best) continue
    yield front
    fronts[number] = await frontOf(lines[number] as Line)
  }
}

async function frontOf(line: Line): Promise<MergedEntry | undefined> {
  const { value, done } = await line.next()
  return done ? undefined : value
}

/** Orders of tasks that are run by priority begin with it, up to a dot; in others all are equal. */
function priorityOf({ sort }: MergedEntry): string {
  const [priority = '', due] = String(sort).split('.')
  return due === undefined ? '' : priority
}
