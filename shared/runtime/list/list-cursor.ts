import { hash32 } from '../../core/values/hash.ts'
import type { MergedEntry } from '../ready/merge-ranges.ts'

/** Cursors of an older form are refused; the reader then begins the list again. */
const VERSION = 1

/**
 * Encodes a position in a list as opaque text. The position is valid only within the query that it was made for, so
 * a forged cursor cannot show more than the query itself. The hash detects typing errors and cursors of other
 * queries.
 */
export function encodeCursor(query: string, { sort, id, range }: MergedEntry): string {
  const fields = [VERSION, sort, id, range]
  return Buffer.from(JSON.stringify([...fields, checksum(query, fields)])).toString('base64url')
}

/** Decodes a cursor; undefined when it is malformed or belongs to another query. */
export function decodeCursor(query: string, cursor: string): MergedEntry | undefined {
  const parsed = parse(cursor)
  if (!Array.isArray(parsed) || parsed.length !== 5) return undefined
  const [version, sort, id, range, hash] = parsed as unknown[]
  const isWhole = Number.isSafeInteger(sort) && Number.isSafeInteger(range)
  if (version !== VERSION || !isWhole || typeof id !== 'string') return undefined
  if (hash !== checksum(query, [version, sort, id, range])) return undefined
  return { sort: sort as number, id, range: range as number }
}

function checksum(query: string, fields: readonly unknown[]): number {
  return hash32(JSON.stringify([query, ...fields]))
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
