const NEAREST_NAMES_MAX = 3
/** Longer names are not compared. Names of types have at most 100 characters, so a longer name is not a typing mistake. */
const COMPARED_CHARACTERS_MAX = 120

/** The names that are like `name`: those that differ by a typing mistake or by case. At most three, nearest first. */
function nearest(name: string, candidates: readonly string[]): string[] {
  if (name.length > COMPARED_CHARACTERS_MAX) return []
  const wanted = name.toLowerCase()
  // Two letters that changed places are two edits.
  const most = Math.max(wanted.length < BEGINNING_LETTERS ? 1 : 2, Math.floor(wanted.length / 3))
  return candidates
    .map(candidate => ({ candidate, distance: distanceOf(wanted, candidate.toLowerCase(), most) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, NEAREST_NAMES_MAX)
    .map(({ candidate }) => candidate)
}

/** The question at the end of a message about an unknown name, or an empty text. */
export function didYouMean(name: string, candidates: readonly string[]): string {
  const found = nearest(name, candidates)
  return found.length === 0 ? '' : `; did you mean ${found.map(one => `'${one}'`).join(' or ')}?`
}

/** Two names that begin with this many equal letters are alike, such as retry and retries. */
const BEGINNING_LETTERS = 4
/** How many letters of each name may follow the common beginning. */
const DIFFERENT_LETTERS = 3

function haveOneBeginning(a: string, b: string): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  return same >= BEGINNING_LETTERS && Math.max(a.length, b.length) - same <= DIFFERENT_LETTERS
}

/** The number of edits between two names. A name within the other, or with the same beginning, counts as just near enough. */
function distanceOf(a: string, b: string, most: number): number {
  if (a !== b && (isWithin(a, b) || isWithin(b, a) || haveOneBeginning(a, b))) return most
  return Math.abs(a.length - b.length) > most ? Number.POSITIVE_INFINITY : edits(a, b)
}

function isWithin(short: string, long: string): boolean {
  return short.length >= BEGINNING_LETTERS && long.includes(short)
}

/** How many letters must be inserted, removed or replaced to make `b` of `a`. */
function edits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + Number(a[row - 1] !== b[column - 1])
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above[b.length] ?? 0
}

const LISTED_NAMES_MAX = 5

/** The end of a message about an unknown name: the nearest names first, at most five in all, and the number of the others. */
export function thereAre(name: string, existing: readonly string[]): string {
  if (existing.length === 0) return '; none is registered yet'
  const near = nearest(name, existing)
  const others = existing.filter(one => !near.includes(one)).sort()
  const first = [...near, ...others].slice(0, LISTED_NAMES_MAX)
  const more = existing.length - first.length
  const listed = `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return near.length === 0 ? `; there are ${listed}` : `${didYouMean(name, near)} There are ${listed}`
}

/** The problem of a name whose type is not registered. */
export function unknownTypeProblem(type: string, existing: readonly string[]): string {
  return `must name a registered type; '${type}' is not registered${thereAre(type, existing)}`
}
