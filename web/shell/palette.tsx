import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useState } from 'react'
import { typesQuery } from '../api/queries.ts'
import { Dialog } from '../parts/dialog.tsx'
import { cut, visible } from '../parts/format.ts'
import { PLACES } from './places.ts'
import { setTheme } from './theme.ts'

type Command = { readonly title: string; readonly hint: string; readonly run: () => void }

const SHOWN_MAX = 12

/** The command palette: pages, types, and any task by its id. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const listId = useId()
  const commands = matching(useCommands(text.trim()), text.trim())
  const current = Math.min(chosen, commands.length - 1)
  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run()
  }
  const onKey = (event: KeyboardEvent) => {
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
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={`${listId}-${current}`}
        aria-label="A page, a type, or the id of a task"
        placeholder="A page, a type, or the id of a task"
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
            key={`${command.hint} ${command.title}`}
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
        {commands.length === 0 && <p className="note soft">Nothing matches.</p>}
      </div>
    </Dialog>
  )
}

function useCommands(text: string): Command[] {
  const navigate = useNavigate()
  const { data: types = [] } = useQuery(typesQuery)
  return [
    ...idCommands(text, navigate),
    ...PLACES.map(({ to, name, key }) => ({
      title: name,
      hint: `g ${key}`,
      run: () => void navigate({ to }),
    })),
    ...types.map(({ type }) => ({
      title: type,
      hint: 'type',
      run: () => void navigate({ to: '/types/$type', params: { type } }),
    })),
    ...types.map(({ type }) => ({
      title: `Tasks of ${type}`,
      hint: 'tasks',
      run: () => void navigate({ to: '/tasks', search: { type: [type] } }),
    })),
    ...(['light', 'dark', 'system'] as const).map(theme => ({
      title: `Theme: ${theme}`,
      hint: 'theme',
      run: () => setTheme(theme),
    })),
  ]
}

/** What has a colon is the id of a task, and may be that of a canvas. */
function idCommands(id: string, navigate: ReturnType<typeof useNavigate>): Command[] {
  if (!id.includes(':')) return []
  const title = cut(visible(id), 80)
  return [
    {
      title,
      hint: 'open the task',
      run: () => void navigate({ to: '/tasks/$id', params: { id }, search: {} }),
    },
    { title, hint: 'open the canvas', run: () => void navigate({ to: '/canvases/$id', params: { id } }) },
  ]
}

function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/)
  const fits = ({ title, hint }: Command) => {
    const whole = `${title} ${hint}`.toLowerCase()
    return hint.startsWith('open the') || words.every(word => whole.includes(word))
  }
  return commands.filter(fits).slice(0, SHOWN_MAX)
}
