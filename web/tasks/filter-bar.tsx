import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ListFilter as FilterIcon } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { typesQuery } from '../api/queries.ts'
import { Button } from '../parts/controls.tsx'
import { STATUSES, toneOf } from '../parts/format.ts'
import { ORDER_NAMES, type TaskFilter } from './filter.ts'

type FilterProps = {
  readonly filter: TaskFilter
  readonly change: (next: Partial<Record<keyof TaskFilter, unknown>>) => void
}

/** The filters above the list of tasks. Every change is a change of the address, so Back takes it back. */
export function FilterBar({ filter }: { readonly filter: TaskFilter }) {
  const navigate = useNavigate()
  const change: FilterProps['change'] = next =>
    void navigate({ to: '/tasks', search: { ...filter, ...next } as TaskFilter })
  const [isMore, setMore] = useState(TEXT_FILTERS.some(([name]) => filter[name] !== undefined))
  return (
    <div className="filters">
      <IdSearch />
      <TypeChoice filter={filter} change={change} />
      <Select
        id="order"
        label="Order"
        value={filter.order ?? '-created'}
        options={Object.entries(ORDER_NAMES)}
        onChoose={order => change({ order })}
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

/** A whole id leads to its task. */
function IdSearch() {
  const navigate = useNavigate()
  const open = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const id = String(new FormData(event.currentTarget).get('id') ?? '').trim()
    if (id !== '') void navigate({ to: '/tasks/$id', params: { id }, search: {} })
  }
  return (
    <form onSubmit={open} className="id-search">
      <input
        name="id"
        type="search"
        data-search
        autoComplete="off"
        aria-label="Open a task by its id"
        placeholder="type:key  —  open by id"
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
      label="Type"
      value={chosen}
      options={[[ALL, 'All types'], ...[...names].map(name => [name, name] as const)]}
      onChoose={type => change({ type: type === ALL ? undefined : [type] })}
    />
  )
}

type SelectProps = {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChoose: (value: string) => void
}

function Select({ id, label, value, options, onChoose }: SelectProps) {
  return (
    <>
      <label className="visually-hidden" htmlFor={id}>
        {label}
      </label>
      <select id={id} value={value} onChange={({ target }) => onChoose(target.value)}>
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </>
  )
}

function StatusChips({ filter, change }: FilterProps) {
  const chosen = filter.status ?? []
  const toggle = (status: (typeof STATUSES)[number]) => {
    const next = chosen.includes(status) ? chosen.filter(one => one !== status) : [...chosen, status]
    change({ status: next.length > 0 ? next : undefined })
  }
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
    </div>
  )
}
