import { useQuery } from '@tanstack/react-query'
import { type NavigateOptions, useNavigate } from '@tanstack/react-router'
import {
  Activity,
  Boxes,
  CalendarClock,
  CircleX,
  Cpu,
  Inbox,
  LayoutDashboard,
  ListChecks,
  MailX,
  Workflow,
} from 'lucide-react'
import { type KeyboardEvent as ReactKeyboardEvent, useEffect, useId, useState } from 'react'
import type { SearchAnswer } from '../../shared/api/diagnosis/search.ts'
import { problemText } from '../api/baton.ts'
import { FOUND_CHARACTERS_MIN, foundQuery } from '../api/found.ts'
import { schedulesQuery, typesQuery } from '../api/queries.ts'
import { isForPage } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { counted, cut, hasWords, relative, visible } from '../parts/format.ts'
import { useSettled } from '../parts/text.tsx'
import { setTheme, type Theme } from './theme.ts'

/** The navigation: the pages, the palette that leads to them and to all types, schedules and tasks, and the keys. */

type Command = {
  readonly title: string
  readonly hint: string
  /** Where it leads, or the theme that it sets. */
  readonly to: NavigateOptions | Theme
  /** The id of a task. */
  readonly id?: string
}

const SHOWN_MAX = 12

/** The command palette: pages, types, schedules, and tasks by all that a search finds. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const found = useFound(text.trim())
  const commands = [...matching(useCommands(), text.trim()), ...found.commands]
  const current = Math.min(chosen, commands.length - 1)
  const run = useRun(onClose)
  const onKey = (event: ReactKeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setChosen((current + step + commands.length) % Math.max(1, commands.length))
    }
    if (event.key === 'Enter') run(commands[current])
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        className="palette-input"
        data-first
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={`${listId}-${current}`}
        aria-label="A page, a type, or a task by its key, id, user, tag or error"
        placeholder="A page, a type, or a task by its key, id, user, tag or error"
        value={text}
        onChange={event => {
          setText(event.target.value)
          setChosen(0)
        }}
        onKeyDown={onKey}
      />
      <div id={listId} className="palette-list" role="listbox" aria-label="Matches">
        {commands.map((command, index) => (
          <div
            key={command.id ?? `${command.hint} ${command.title}`}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === current}
            className="palette-option"
            onClick={() => run(command)}
          >
            <bdi className="cut">{command.title}</bdi>
            <span className="faint">{command.hint}</span>
          </div>
        ))}
      </div>
      <p className="palette-note soft isolated" role="status">
        {found.note}
      </p>
    </Dialog>
  )
}

function useRun(onClose: () => void) {
  const navigate = useNavigate()
  return (command: Command | undefined) => {
    if (!command) return
    onClose()
    if (typeof command.to === 'string') setTheme(command.to)
    else void navigate(command.to)
  }
}

/** The tasks that the text finds, what leads to all of them, and how far the search is. */
function useFound(text: string): { readonly commands: readonly Command[]; readonly note: string } {
  const q = useSettled(text)
  const { data: types } = useQuery(typesQuery)
  const { data, error } = useQuery(foundQuery(q))
  if (text === '') return { commands: [], note: '' }
  const found = q === text ? data : undefined
  const { items = [], matches = [] } = found ?? {}
  const tasks = items.map(
    ({ id, key, type, status, finishedAt, dueAt }, nth): Command => ({
      id,
      title: short(key),
      hint: `${type} · ${status} ${relative(finishedAt ?? dueAt, Date.now())} · ${matches[nth]}`,
      to: { to: '/tasks/$id', params: { id }, search: {} },
    }),
  )
  const canvas = commandOf(short(text), 'open the canvas', { to: '/canvases/$id', params: { id: text } })
  const task = commandOf(short(text), 'open the task', { to: '/tasks/$id', params: { id: text }, search: {} })
  const isCanvasId = text.startsWith('canvas:')
  // Until the types are read, any text with a colon may be an id.
  const isOfType = types ? types.some(({ type }) => text.startsWith(`${type}:`)) : text.includes(':', 1)
  const isTaskId = !found && isOfType && !isCanvasId
  const all = commandOf(`Search all tasks for ${short(text)}`, 'tasks', { to: '/tasks', search: { q: text } })
  const commands = [...tasks, ...(isTaskId ? [task] : []), ...(isCanvasId ? [canvas] : []), all]
  return { commands, note: error ? `The search failed: ${problemText(error)}` : noteOf(text, found) }
}

function noteOf(text: string, found: SearchAnswer | undefined): string {
  if (text.length < FOUND_CHARACTERS_MIN) return ''
  if (!found) return 'Searching …'
  return `${counted(found.items.length, 'task')} found${found.nextCursor === undefined ? '' : ' so far'}`
}

function short(text: string): string {
  return cut(visible(text), NAME_CHARACTERS_MAX)
}

const NAME_CHARACTERS_MAX = 80

function commandOf(title: string, hint: string, to: Command['to']): Command {
  return { title, hint, to }
}

const THEMES = ['light', 'dark', 'system'] as const

function useCommands(): Command[] {
  const { data: types = [] } = useQuery(typesQuery)
  const { data: schedules = [] } = useQuery(schedulesQuery)
  return [
    ...PLACES.map(({ to, name, key }) => commandOf(name, `g ${key}`, { to })),
    ...types.map(({ type }) => commandOf(type, 'type', { to: '/types/$type', params: { type } })),
    ...types.map(({ type }) =>
      commandOf(`Tasks of ${type}`, 'tasks', { to: '/tasks', search: { type: [type] } }),
    ),
    ...schedules.map(({ name }) => commandOf(name, 'schedule', { to: '/schedules/$name', params: { name } })),
    ...THEMES.map(theme => commandOf(`Theme: ${theme}`, 'theme', theme)),
  ]
}

function matching(commands: readonly Command[], text: string): Command[] {
  return commands.filter(({ title, hint }) => hasWords(`${title} ${hint}`, text)).slice(0, SHOWN_MAX)
}

/** The pages of the navigation. `key` after `g` leads there. */
export const PLACES = [
  { to: '/', name: 'Overview', key: 'o', icon: LayoutDashboard },
  { to: '/attention', name: 'Needs attention', key: 'a', icon: Inbox },
  { to: '/tasks', name: 'Tasks', key: 't', icon: ListChecks },
  { to: '/failures', name: 'Failures', key: 'f', icon: CircleX },
  { to: '/dead-letters', name: 'Dead letters', key: 'd', icon: MailX },
  { to: '/types', name: 'Types', key: 'y', icon: Boxes },
  { to: '/schedules', name: 'Schedules', key: 's', icon: CalendarClock },
  { to: '/canvases', name: 'Canvases', key: 'c', icon: Workflow },
  { to: '/workers', name: 'Workers', key: 'w', icon: Cpu },
  { to: '/events', name: 'Events', key: 'e', icon: Activity },
] as const

/** After `g`, the next key within this time names a page. */
const GO_MS = 1_500

/** The keys that work on every page. `j`, `k`, `x` and Enter belong to lists. */
export function useShortcuts(open: (what: 'palette' | 'help') => void): void {
  const navigate = useNavigate()
  useEffect(() => {
    let goUntil = 0
    const keys: Record<string, (event: KeyboardEvent) => void> = {
      '/': event => focusSearch(event, () => open('palette')),
      '?': () => open('help'),
    }
    const onKey = (event: KeyboardEvent) => {
      if (isPaletteKey(event)) {
        event.preventDefault()
        open('palette')
      } else if (isForPage(event)) act(event)
    }
    const act = (event: KeyboardEvent) => {
      const place = Date.now() < goUntil ? PLACES.find(({ key }) => key === event.key) : undefined
      goUntil = event.key === 'g' ? Date.now() + GO_MS : 0
      if (place) void navigate({ to: place.to })
      else keys[event.key]?.(event)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [navigate, open])
}

function isPaletteKey({ ctrlKey, metaKey, key }: KeyboardEvent): boolean {
  return (ctrlKey || metaKey) && key.toLowerCase() === 'k'
}

/** A page with a search field of its own marks it. Elsewhere the palette searches. */
function focusSearch(event: KeyboardEvent, openPalette: () => void): void {
  event.preventDefault()
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  if (field) field.focus()
  else openPalette()
}
