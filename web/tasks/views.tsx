import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { useState } from 'react'
import { parseSearch, stringifySearch } from '../api/search.ts'
import { Button, IconButton, InputField, tellProblem } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { CopyButton, Name } from '../parts/text.tsx'
import { readTaskFilter, type TaskFilter } from './filter.ts'

/**
 * A view of the list of tasks is its address: filters, order and columns. So a link shares a view, and this browser keeps only names for
 * addresses. The server keeps none, because names of one person would be in the way of others.
 */

type View = { readonly name: string; readonly search: string }

const KEY = 'baton-task-views'

type ViewsProps = { readonly filter: TaskFilter; readonly onClose: () => void }

/** The views that this browser keeps, and what keeps the present one. */
export function ViewsDialog({ filter, onClose }: ViewsProps) {
  const [views, setViews] = useState(storedViews)
  const keep = (next: readonly View[]) => {
    try {
      localStorage.setItem(KEY, JSON.stringify(next))
      setViews(next)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      tellProblem(new Error(`This browser does not keep the view: ${why} Copy the link of the page instead.`))
    }
  }
  const without = (name: string) => storedViews().filter(view => view.name !== name)
  return (
    <Dialog title="Views" onClose={onClose}>
      <div className="dialog-body">
        {views.length === 0 && <p className="soft">A view keeps the filters, the order and the columns.</p>}
        <ul className="views">
          {views.map(({ name, search }) => (
            <li key={name}>
              <Link
                to="/tasks"
                search={readTaskFilter(parseSearch(search))}
                onClick={onClose}
                className="cut"
              >
                <Name mono={false}>{name}</Name>
              </Link>
              <IconButton icon={X} label={`Remove the view ${name}`} onClick={() => keep(without(name))} />
            </li>
          ))}
        </ul>
        <form
          className="view-form"
          onSubmit={event => {
            event.preventDefault()
            const name = String(new FormData(event.currentTarget).get('name')).trim()
            if (name !== '') keep([...without(name), { name, search: stringifySearch(filter) }])
          }}
        >
          <InputField label="Keep the present view as" name="name" maxLength={100} required />
          <Button type="submit" text="Keep" />
        </form>
        <p className="soft">
          A link to the present view, for a colleague <CopyButton text={location.href} label="link" />
        </p>
      </div>
    </Dialog>
  )
}

/** What another version or a person has left in the storage is not a view. */
function storedViews(): readonly View[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    const isView = (one: unknown): one is View =>
      typeof Object(one).name === 'string' && typeof Object(one).search === 'string'
    return Array.isArray(stored) ? stored.filter(isView) : []
  } catch {
    return []
  }
}
