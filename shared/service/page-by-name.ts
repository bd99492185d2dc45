import type { FieldProblem } from '../core/errors.ts'

type NamePage<Item> =
  | { readonly ok: true; readonly items: readonly Item[]; readonly nextCursor?: string }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

const DEFAULT_LIMIT = 20

/** Cuts one page out of a list that is short enough to be read as a whole. The cursor is the last name of the page before. */
export function pageByName<Item>(
  all: readonly Item[],
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number; readonly cursor?: string },
  nameOf: (item: Item) => string,
  isName: (text: string) => boolean,
): NamePage<Item> {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString()
  if (cursor !== undefined && !isName(after)) {
    return {
      ok: false,
      problems: [{ path: 'cursor', message: 'is not a cursor: pass nextCursor unchanged' }],
    }
  }
  const rest = all.filter(item => nameOf(item) > after).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const items = rest.slice(0, limit)
  const last = rest.length > limit ? items.at(-1) : undefined
  return {
    ok: true,
    items,
    ...(last !== undefined && { nextCursor: Buffer.from(nameOf(last)).toString('base64url') }),
  }
}
