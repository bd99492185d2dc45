import { Link, useNavigate } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { ApiTask } from '../../shared/api/tasks.ts'
import { isForPage } from '../parts/controls.tsx'
import { toggled } from '../parts/format.ts'
import { Name, StatusBadge } from '../parts/text.tsx'
import { COLUMNS } from './columns.tsx'
import type { ColumnName } from './filter.ts'

const ROW_PX = 44
const PHONE_ROW_PX = 84
/** Rows outside the screen that are drawn, so that fast scrolling shows no gaps. */
const OVERSCAN = 12

type Selection = ReturnType<typeof useSelection>

type Listed = {
  readonly tasks: readonly ApiTask[]
  readonly selection: Selection
  readonly columns: readonly ColumnName[]
}

type ListProps = Listed & {
  /** How a search has found each task. */
  readonly matches?: ReadonlyMap<string, string>
  /** Asks for more rows. */
  readonly onEnd: () => void
  /** Receives the function that scrolls to a row. */
  readonly scrollTo: { current: (index: number) => void }
}

/** Rows of tasks. Only those on the screen are in the document, so a list of 10,000 scrolls as one of ten. */
export function TaskList({ tasks, selection, columns, matches, onEnd, scrollTo }: ListProps) {
  const { frame, rows, offset, rowPx } = useRows(tasks.length, onEnd)
  scrollTo.current = index => rows.scrollToIndex(index)
  return (
    <div
      className="rows"
      role="table"
      aria-label="Tasks"
      aria-rowcount={tasks.length + 1}
      style={{ '--columns': columns.map(name => COLUMNS[name].width).join(' ') } as CSSProperties}
    >
      <Head tasks={tasks} selection={selection} columns={columns} />
      <div ref={frame} role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const task = tasks[index]
          return (
            task && (
              <Row
                key={task.id}
                task={task}
                columns={columns}
                match={matches?.get(task.id)}
                index={index}
                top={start - offset}
                height={rowPx}
                selection={selection}
              />
            )
          )
        })}
      </div>
    </div>
  )
}

/** The rows that are on the screen. Near the last one, `onEnd` is asked for more. */
function useRows(count: number, onEnd: () => void) {
  const frame = useRef<HTMLDivElement>(null)
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => setOffset(frame.current?.offsetTop ?? 0), [])
  const rowPx = useRowPx()
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: offset,
  })
  const last = rows.getVirtualItems().at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= count - OVERSCAN) onEnd()
  }, [last, count, onEnd])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows have another height when the screen becomes narrow
  useEffect(() => rows.measure(), [rows, rowPx])
  return { frame, rows, offset, rowPx }
}

function Head({ tasks, selection, columns }: Listed) {
  const isAll = tasks.length > 0 && selection.selected.length >= tasks.length
  return (
    <div className="row row-head" role="row">
      <span role="columnheader">
        <input
          type="checkbox"
          aria-label="Select all that are loaded"
          checked={isAll}
          onChange={() => selection.select(isAll ? [] : tasks.map(({ id }) => id))}
        />
      </span>
      <span role="columnheader">Status</span>
      <span role="columnheader">Task</span>
      {columns.map(name => (
        <span key={name} role="columnheader" className={`cut ${COLUMNS[name].look ?? ''}`}>
          {COLUMNS[name].title}
        </span>
      ))}
    </div>
  )
}

type RowProps = Omit<Listed, 'tasks'> & {
  readonly task: ApiTask
  readonly match: string | undefined
  readonly index: number
  readonly top: number
  readonly height: number
}

function Row({ task, columns, match, index, top, height, selection }: RowProps) {
  const navigate = useNavigate()
  const { id, type, key, status, needsAttention } = task
  const isSelected = selection.selected.includes(id)
  const open = () => void navigate({ to: '/tasks/$id', params: { id }, search: {} })
  return (
    <div
      className="row"
      role="row"
      aria-rowindex={index + 2}
      data-current={index === selection.current}
      data-selected={isSelected}
      style={{ position: 'absolute', top, left: 0, right: 0, height }}
      onClick={({ target }) => !(target as Element).closest('a, input') && open()}
    >
      <span role="cell">
        <input
          type="checkbox"
          aria-label={`Select ${id}`}
          checked={isSelected}
          onChange={() => selection.toggle(id)}
        />
      </span>
      <span role="cell" className="cut">
        <StatusBadge state={status} />
        {needsAttention && <span className="tag bad">needs attention</span>}
      </span>
      <span role="cell" className="row-name">
        <Link to="/tasks/$id" params={{ id }} search={{}} className="cut">
          <Name>{key}</Name>
        </Link>
        <span className="faint cut">{match === undefined ? type : `${type} · by ${match}`}</span>
      </span>
      {columns.map(name => (
        <span key={name} role="cell" className={`row-${name} soft cut ${COLUMNS[name].look ?? ''}`}>
          {COLUMNS[name].cell(task)}
        </span>
      ))}
    </div>
  )
}

const phone = matchMedia('(max-width: 720px)')

function onWidth(listener: () => void) {
  phone.addEventListener('change', listener)
  return () => phone.removeEventListener('change', listener)
}

/** The height of a row: on a phone it has three lines. */
function useRowPx(): number {
  return useSyncExternalStore(onWidth, () => phone.matches) ? PHONE_ROW_PX : ROW_PX
}

/** The row that the keys act on, and the rows that are selected. */
export function useSelection(ids: readonly string[], { open, show }: RowActions) {
  const [current, setCurrent] = useState(-1)
  const [selected, setSelected] = useState<readonly string[]>([])
  const toggle = (id: string) => setSelected(before => toggled(before, id))

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isForPage(event)) return
      const step = STEPS[event.key]
      const id = ids[current]
      if (step !== undefined) go(step)
      else if (event.key === 'Escape') setSelected([])
      else if (id !== undefined) act(event, id)
    }
    const go = (step: number) => {
      const next = Math.max(0, Math.min(ids.length - 1, current + step))
      setCurrent(next)
      show(next)
    }
    const act = ({ key, target }: KeyboardEvent, id: string) => {
      if (key === 'x') setSelected(before => toggled(before, id))
      if (key === 'Enter' && target === document.body) open(id)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [ids, current, open, show])

  return { current, selected, toggle, select: setSelected }
}

type RowActions = {
  readonly open: (id: string) => void
  /** Scrolls to a row. */
  readonly show: (index: number) => void
}

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1 }
