import { useState } from 'react'
import type { Column, Sorting } from './page.tsx'

/** The rows in their given order, until the reader sorts them by a column. */
export function useSorted<Row>(rows: readonly Row[], columns: ReadonlyArray<Column<Row>>) {
  const [column, setColumn] = useState<string>()
  const sortBy = columns.find(({ name }) => name === column)?.sortBy
  const sorted = sortBy ? rows.toSorted((a, b) => compare(sortBy(a), sortBy(b))) : rows
  const sorting: Sorting = { column, onSort: name => setColumn(name === column ? undefined : name) }
  return { rows: sorted, sorting }
}

function compare(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? b - a : String(a).localeCompare(String(b))
}
