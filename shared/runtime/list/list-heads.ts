import type { Head } from '../../core/task/head.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { mergeRanges, take } from '../place/ready.ts'
import { decodeCursor, encodeCursor } from './list-query.ts'

/** A list of heads that are not tasks, in the order of an index. */
type HeadList<H extends Head> = {
  /** The name of the list, to which its cursors belong. */
  readonly name: string
  readonly ranges: readonly IndexRange[]
  readonly descending?: boolean
  readonly is: (head: Head) => head is H
}

export type ListPage = { readonly limit: number; readonly cursor?: string }

export type HeadPage<H> =
  | { readonly ok: true; readonly heads: readonly H[]; readonly nextCursor?: string }
  | { readonly ok: false; readonly reason: 'strange-cursor' }

/** Reads one page of the heads. A page may be short, because an index shows some heads that are no longer there. */
export async function listHeads<H extends Head>(
  system: System,
  { name, ranges, descending = false, is }: HeadList<H>,
  { limit, cursor }: ListPage,
): Promise<HeadPage<H>> {
  const after = cursor === undefined ? undefined : decodeCursor(name, cursor)
  if (cursor !== undefined && !after) return { ok: false, reason: 'strange-cursor' }
  const entries = mergeRanges(system.tasks, ranges, { pageSize: limit + 1, descending, after })
  const page = await take(entries, limit)
  const last = (await take(entries, 1)).length > 0 ? page.at(-1) : undefined
  const ids = [...new Set(page.map(({ id }) => id))]
  const byId = new Map((await system.tasks.heads(ids)).filter(is).map(head => [head.id, head]))
  const heads = ids.flatMap(id => byId.get(id) ?? [])
  return { ok: true, heads, ...(last && { nextCursor: encodeCursor(name, last) }) }
}
