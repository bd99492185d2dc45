import { hash32 } from '../../core/hash.ts'
import type { MergedEntry } from '../ready/merge-ranges.ts'

/** Cursors of an older form are refused, which costs a reader his place and nothing else. */
const VERSION = 1

/**
 * A place in a list as opaque text. It holds nothing but a position within the very query it was made for, so a forged
 * one can show nobody more than the query itself; the hash tells slips and other queries' cursors.
 */
export function encodeCursor(query: string, { sort, id, range }: MergedEntry): string {
  const fields = [VERSION, sort, id, range]
  return Buffer.from(JSON.stringify([...fields, seal(query, fields)])).toString('base64url')
}

/** Undefined when `cursor` is none, or one of another query. */
export function decodeCursor(query: string, cursor: string): MergedEntry | undefined {
  const parsed = parse(cursor)
  if (!Array.isArray(parsed) || parsed.length !== 5) return undefined
  const [version, sort, id, range, hash] = parsed as unknown[]
  const isWhole = Number.isSafeInteger(sort) && Number.isSafeInteger(range)
  if (version !== VERSION || !isWhole || typeof id !== 'string') return undefined
  if (hash !== seal(query, [version, sort, id, range])) return undefined
  return { sort: sort as number, id, range: range as number }
}

function seal(query: string, fields: readonly unknown[]): number {
  return hash32(JSON.stringify([query, ...fields]))
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}
