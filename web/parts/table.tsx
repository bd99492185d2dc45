import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from './controls.tsx'
import { Answer } from './page.tsx'

/** A column of a table: its name, and the content of its cell in a row. On a phone a cell shows the name of its column. */
export type Column<Row> = {
  readonly name: string
  /** `actions` are buttons: their column has no visible name. */
  readonly kind?: 'number' | 'narrow-hidden' | 'actions'
  readonly title?: string
  /** More classes of a cell. */
  readonly look?: string
  /** By what a reader can sort the rows: numbers the largest first, texts by the alphabet. @default not at all */
  readonly sortBy?: (row: Row) => number | string
  readonly cell: (row: Row) => ReactNode
}

type TableProps<Row> = {
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** What is shown in place of a table without rows. */
  readonly empty?: ReactNode
  /** What the rows are, such as `types`, if the table shows them page by page. */
  readonly noun?: string
}

const PAGE_ROWS = 50

/** A table. The first column names the row. The rows are in their given order until a reader sorts them by a column. */
export function Table<Row>({ columns, rows, keyOf, empty, noun }: TableProps<Row>) {
  const [column, setColumn] = useState<string>()
  const [page, setPage] = useState(0)
  if (rows.length === 0 && empty !== undefined) return empty
  const sortBy = columns.find(({ name }) => name === column)?.sortBy
  const sorted = sortBy ? rows.toSorted((a, b) => compare(sortBy(a), sortBy(b))) : rows
  const sort = (name: string) => setColumn(name === column ? undefined : name)
  const size = noun === undefined ? Number.POSITIVE_INFINITY : PAGE_ROWS
  const from = noun === undefined ? 0 : Math.min(page, Math.ceil(rows.length / size) - 1) * size
  const to = Math.min(rows.length, from + size)
  return (
    <>
      <div className="table-frame">
        <table>
          <thead>
            <tr>
              {columns.map(({ name, kind, title, sortBy }) => (
                <th key={name} scope="col" className={kind} title={title}>
                  {sortBy && <Sort name={name} isPressed={name === column} onClick={() => sort(name)} />}
                  {!sortBy && <span className={kind === 'actions' ? 'visually-hidden' : ''}>{name}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(from, to).map(row => (
              <tr key={keyOf(row)}>
                {columns.map(({ name, kind = '', look = '', cell }, index) => (
                  <td
                    key={name}
                    className={`${kind} ${look}`}
                    data-label={index === 0 || kind === 'actions' ? undefined : name}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > size && (
        <footer className="table-foot">
          {from + 1}–{to} of {rows.length} {noun}
          <span className="cell-actions">
            <Button text="Back" disabled={from === 0} onClick={() => setPage(page - 1)} />
            <Button text="Next" disabled={to === rows.length} onClick={() => setPage(page + 1)} />
          </span>
        </footer>
      )}
    </>
  )
}

type SortProps = { readonly name: string; readonly isPressed: boolean; readonly onClick: () => void }

function Sort({ name, isPressed, onClick }: SortProps) {
  return (
    <button type="button" className="sort" aria-pressed={isPressed} onClick={onClick}>
      {name}
    </button>
  )
}

function compare(a: number | string, b: number | string): number {
  return typeof a === 'number' && typeof b === 'number' ? b - a : String(a).localeCompare(String(b))
}

type PagesProps<Item> = {
  readonly of: UseInfiniteQueryResult<InfiniteData<{ readonly items: readonly Item[] }>>
  readonly children: (items: readonly Item[]) => ReactNode
}

/** The items of a list as far as it is read, and what reads more of it. */
export function Pages<Item>({ of: query, children }: PagesProps<Item>) {
  return (
    <>
      <Answer of={query}>{({ pages }) => children(pages.flatMap(({ items }) => items))}</Answer>
      {query.hasNextPage && (
        <div className="more">
          <Button
            text="Show more"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          />
        </div>
      )}
    </>
  )
}
