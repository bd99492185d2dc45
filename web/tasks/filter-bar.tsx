import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Bookmark, ListFilter as FilterIcon } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { typesQuery } from '../api/queries.ts'
import { Button, Opener, Select } from '../parts/controls.tsx'
import { STATUSES, toggled, toneOf } from '../parts/format.ts'
import { useSettled } from '../parts/text.tsx'
import { COLUMNS } from './columns.tsx'
import { COLUMN_NAMES, type ColumnName, columnsOf, ordersOf, type TaskFilter } from './filter.ts'
import { ViewsDialog } from './views.tsx'

type FilterProps = {
  readonly filter: TaskFilter
  readonly change: (next: Partial<Record<keyof TaskFilter, unknown>>) => void
}

/** The filters above the list of tasks. Every change is a change of the address, so Back takes it back. */
export function FilterBar({ filter }: { readonly filter: TaskFilter }) {
  const navigate = useNavigate()
  const change: FilterProps['change'] = next =>
    void navigate({
      to: '/tasks',
      search: { ...filter, ...next } as TaskFilter,
      // A text that is still written is one step back.
      replace: filter.q !== undefined && next.q !== undefined,
    })
  const [isMore, setMore] = useState(TEXT_FILTERS.some(([name]) => filter[name] !== undefined))
  const orders = ordersOf(filter)
  if (filter.q !== undefined)
    return (
      <div className="filters">
        <TaskSearch filter={filter} change={change} />
        <Button text="Back to the list" onClick={() => change({ q: undefined })} />
      </div>
    )
  return (
    <div className="filters">
      <TaskSearch filter={filter} change={change} />
      <TypeChoice filter={filter} change={change} />
      <Select
        id="order"
        aria-label="Order"
        value={filter.order ?? orders[0]?.[0] ?? ''}
        options={orders}
        onChoose={order => change({ order })}
      />
      <Opener
        text="Views"
        icon={Bookmark}
        dialog={close => <ViewsDialog filter={filter} onClose={close} />}
      />
      <Button
        look="quiet"
        icon={FilterIcon}
        text="More"
        aria-expanded={isMore}
        onClick={() => setMore(!isMore)}
      />
      <StatusChips filter={filter} change={change} />
      {isMore && <MoreFilters filter={filter} change={change} />}
    </div>
  )
}

/** Searches while a reader writes. A pause of the reader sends the text, and Enter sends it at once. */
function TaskSearch({ filter: { q = '' }, change }: FilterProps) {
  const [text, setText] = useState(q)
  const sent = useRef(q)
  const send = (next: string) => {
    if (next === sent.current) return
    sent.current = next
    change({ q: next === '' ? undefined : next })
  }
  useEffect(() => {
    // Back and links change the address, too.
    if (q !== sent.current) setText(q)
    sent.current = q
  }, [q])
  const sendLatest = useRef(send)
  sendLatest.current = send
  const settled = useSettled(text.trim())
  useEffect(() => sendLatest.current(settled), [settled])
  return (
    <form
      className="id-search"
      onSubmit={event => {
        event.preventDefault()
        send(text.trim())
      }}
    >
      <input
        type="search"
        data-search
        autoComplete="off"
        aria-label="Search tasks"
        placeholder="Key, id, user, tag or error"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </form>
  )
}

const ALL = ''

function TypeChoice({ filter, change }: FilterProps) {
  const { data: types = [] } = useQuery(typesQuery)
  const [chosen = ALL] = filter.type ?? []
  const names = new Set([...types.map(({ type }) => type), ...(filter.type ?? [])])
  return (
    <Select
      id="type"
      aria-label="Type"
      value={chosen}
      options={[[ALL, 'All types'], ...[...names].map(name => [name, name] as const)]}
      onChoose={type => change({ type: type === ALL ? undefined : [type] })}
    />
  )
}

function StatusChips({ filter, change }: FilterProps) {
  const chosen = filter.status ?? []
  const toggle = (status: (typeof STATUSES)[number]) => change({ status: toggled(chosen, status) })
  return (
    <fieldset className="chips">
      <legend className="visually-hidden">Status</legend>
      {STATUSES.map(status => (
        <button
          key={status}
          type="button"
          className="chip"
          data-tone={toneOf(status)}
          aria-pressed={chosen.includes(status)}
          onClick={() => toggle(status)}
        >
          <span className="dot" aria-hidden />
          {status}
        </button>
      ))}
    </fieldset>
  )
}

const TEXT_FILTERS = [
  ['userId', 'User', ''],
  ['canvasId', 'Canvas', ''],
  ['tag', 'Tag', 'name:value'],
  ['error', 'Error contains', ''],
  ['since', 'From', '2026-11-23T09:00:00Z'],
  ['until', 'Until', '2026-11-23T10:00:00Z'],
] as const

function MoreFilters({ filter, change }: FilterProps) {
  const columns = columnsOf(filter)
  const choose = (name: ColumnName, isShown: boolean) =>
    change({ columns: COLUMN_NAMES.filter(one => (one === name ? isShown : columns.includes(one))) })
  return (
    <div className="more-filters">
      {TEXT_FILTERS.map(([name, label, placeholder]) => (
        <label key={name}>
          <span className="faint">{label}</span>
          <input
            defaultValue={[filter[name] ?? ''].flat().join(' ')}
            placeholder={placeholder}
            onBlur={({ target }) => change({ [name]: target.value.trim() || undefined })}
            onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
          />
        </label>
      ))}
      <fieldset className="chips">
        <legend className="visually-hidden">Columns</legend>
        {COLUMN_NAMES.map(name => (
          <label key={name}>
            <input
              type="checkbox"
              checked={columns.includes(name)}
              onChange={({ target }) => choose(name, target.checked)}
            />
            {COLUMNS[name].title}
          </label>
        ))}
      </fieldset>
    </div>
  )
}
