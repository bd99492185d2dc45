import type { Page } from '../../shared/api/scalars.ts'
import type { Column, Layout } from '../terminal/table.ts'
import type { Context } from './with-system.ts'

/** The most items of one page of the API. */
const PAGE_ITEMS_MAX = 100

type ReadPage<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>

export type Listing<Item> = {
  readonly columns: ReadonlyArray<Column<Item>>
  /** What is said in place of an empty table. */
  readonly none: string
  /** The most items that are printed. @default all of them */
  readonly limit?: number
}

/** Prints a list page by page as it arrives: one table for people, or a line of JSON for each item. */
export async function printPages<Item>(
  { printer, io }: Context,
  read: ReadPage<Item>,
  { columns, none, limit = Number.POSITIVE_INFINITY }: Listing<Item>,
): Promise<void> {
  const layout: Layout = { widths: [] }
  let printed = 0
  let cursor: string | undefined
  do {
    const wanted = Math.min(PAGE_ITEMS_MAX, limit - printed)
    const page = await read({ limit: wanted, ...(cursor !== undefined && { cursor }) })
    if (printer.isJson) page.items.forEach(printer.record)
    else if (page.items.length > 0) printer.table(columns, page.items, layout)
    printed += page.items.length
    cursor = page.nextCursor
  } while (cursor !== undefined && printed < limit && !io.signal.aborted)
  if (printed === 0) printer.note(none)
  else if (cursor !== undefined) printer.note('there are more: give a higher --limit, or --all')
}
