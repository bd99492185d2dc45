import { KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { anything, listOf, open, optional, strict } from '../core/rules/compound.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'
import { integer, name, revisionRule, shortText, text, whole } from '../core/rules/scalars.ts'
import type { Json } from '../core/values/values.ts'

/** Any JSON. Values that cannot be stored exactly are refused before any rule sees them. */
export const json = anything<Json>()

export const key = name(KEY_CHARACTERS_MAX)
export const userId = name(KEY_CHARACTERS_MAX)

/** A time, as answers show it. */
export const shownTime = text('a time', () => true, { format: 'date-time' })

/** A whole number in an answer, such as a count or a number of milliseconds. */
export const count = integer(0)

export const operation = open({
  /** When the caller made the change. */
  at: shownTime,
  /** The caller: an IAM principal, the subject of a token, the local user as `local:NAME`, or `anonymous`. */
  by: text(),
  /** The change, such as `cancel`. */
  what: text(),
})

/** A change that a caller made over the HTTP API. `by` is an IAM principal, the subject of a token, or the local user as `local:NAME`. */
export type ApiOperation = ValueOf<typeof operation>

export const operations = listOf(operation)

/** How often people have changed it; 0 when there was no change. Work of the machinery does not count. */
export const revision = integer(0)

/**
 * The revision that the change was made from. If the present revision is another one, the request is refused with 409. Left out, any
 * revision fits.
 */
export const ifRevision = revisionRule

/** The body, or the query, of requests that take only the expected revision. */
export const expectedRevision = strict({
  /** The revision that the change was made from. If the present revision is another one, the request is refused with 409. @default any */
  ifRevision: optional(ifRevision),
})

export type ExpectedRevision = ValueOf<typeof expectedRevision>

/** The body of requests that take no fields. */
export const emptyBody = strict({})

const CURSOR_CHARACTERS_MAX = 2_048
export const PAGE_ITEMS_MAX = 100

const limit = whole(1, PAGE_ITEMS_MAX)
export const cursor = shortText(CURSOR_CHARACTERS_MAX)

/** The query of a list without filters. */
export const pageQuery = strict({
  /** The number of items on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type PageQuery = ValueOf<typeof pageQuery>

/** The query of a list whose cursor is a whole number of at most this many digits. */
export function positionQuery(digits: number) {
  const position = new RegExp(`^\\d{1,${digits}}$`)
  return strict({
    /** The number of items on a page. @default 20 */
    limit: optional(limit),
    /** The `nextCursor` of the page before. @default the first page */
    cursor: optional(
      text('a nextCursor of this list', value => position.test(value), { pattern: position.source }),
    ),
  })
}

/** One page of a list, as answers show it. */
export function pageOf<Item extends Rule>(item: Item, component?: string) {
  return open(
    {
      /** The items of this page. */
      items: listOf(item),
      /** The `cursor` of the next page. Left out on the last one. */
      nextCursor: optional(text()),
    },
    component,
  )
}

/** One page of a list. `nextCursor` asks for the next page, and is left out on the last one. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor?: string }
