import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { BookOpen, Menu, Monitor, Moon, Search, Sun } from 'lucide-react'
import { useState } from 'react'
import { referenceQuery } from '../api/queries.ts'
import { type Connection, connection, readOnly, refusal, useStore } from '../api/store.ts'
import { IconButton, Toasts } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { BulkProgress } from '../tasks/bulk.tsx'
import { Palette, PLACES, useShortcuts } from './palette.tsx'
import { nextTheme, type Theme, theme } from './theme.ts'

/** The frame around each page: navigation at the side, search and state at the top. */
export function Shell() {
  const [open, setOpen] = useState<'palette' | 'help' | 'menu'>()
  const close = () => setOpen(undefined)
  useShortcuts(setOpen)
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <aside className="side">
        <Link to="/" className="brand">
          <img src="/icon.svg" width={24} height={24} alt="" />
          Baton
        </Link>
        <Navigation />
        <ReferenceLink />
        <button type="button" className="help-button" onClick={() => setOpen('help')}>
          Keys <kbd>?</kbd>
        </button>
      </aside>
      <div className="main">
        <header className="top">
          <IconButton
            className="icon-button menu-button"
            icon={Menu}
            size={18}
            label="Menu"
            onClick={() => setOpen('menu')}
          />
          <button type="button" className="search-button" onClick={() => setOpen('palette')}>
            <Search size={15} aria-hidden />
            <span className="cut">Find a task, a type, a page</span>
            <kbd>Ctrl K</kbd>
          </button>
          <ConnectionState />
          <ThemeButton />
        </header>
        <Banner />
        <ReadOnlyNote />
        <main id="content" className="content" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {open === 'palette' && <Palette onClose={close} />}
      {open === 'help' && <Help onClose={close} />}
      {open === 'menu' && (
        <Dialog title="Baton" look="side" onClose={close}>
          <Navigation onGo={close} />
          <ReferenceLink />
        </Dialog>
      )}
      <BulkProgress />
      <Toasts />
    </div>
  )
}

function Navigation({ onGo }: { readonly onGo?: () => void }) {
  return (
    <nav aria-label="Pages">
      {PLACES.map(({ to, name, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          className="place"
          activeOptions={{ exact: to === '/', includeSearch: false }}
          {...(onGo && { onClick: onGo })}
        >
          <Icon size={16} aria-hidden />
          {name}
        </Link>
      ))}
    </nav>
  )
}

/** A link to the reference of the API, where the system serves one. */
function ReferenceLink() {
  const { data: hasReference } = useQuery(referenceQuery)
  if (!hasReference) return null
  return (
    <a className="help-button" href="/docs">
      API reference <BookOpen size={15} aria-hidden />
    </a>
  )
}

const CONNECTIONS: Readonly<Record<Connection, { tone: string; text: string }>> = {
  connecting: { tone: 'wait', text: 'Connecting' },
  live: { tone: 'good', text: 'Live' },
  polling: { tone: 'busy', text: 'Polling' },
  broken: { tone: 'bad', text: 'No answer' },
}

const OLD = { tone: 'warn', text: 'Outdated' }

function ConnectionState() {
  const state = useStore(connection)
  const isOld = useStore(refusal) !== undefined && state !== 'broken'
  const { tone, text } = isOld ? OLD : CONNECTIONS[state]
  return (
    <span className="status connection" data-tone={tone} role="status">
      <span className="dot" aria-hidden />
      {/* A page that connects within a moment shows its dot alone, so that no text is replaced. */}
      <span key={text} className={state === 'connecting' ? 'visually-hidden' : 'connection-text'}>
        {text}
      </span>
    </span>
  )
}

function Banner() {
  const isBroken = useStore(connection) === 'broken'
  const refused = useStore(refusal)
  if (isBroken)
    return (
      <p className="banner" role="alert">
        The system does not answer. This page shows what was last known, and continues by itself when the
        system is back.
      </p>
    )
  if (refused === undefined) return null
  return (
    <p className="banner isolated" role="alert">
      This page shows what was last known, because the system refuses further requests: {refused}
    </p>
  )
}

function ReadOnlyNote() {
  if (!useStore(readOnly)) return null
  return (
    <p className="read-only">
      This dashboard only reads: it was started with --read-only, so it has no actions.
    </p>
  )
}

const THEME_ICONS: Readonly<Record<Theme, typeof Sun>> = { system: Monitor, light: Sun, dark: Moon }

function ThemeButton() {
  const chosen = useStore(theme)
  const label = `Theme: ${chosen}`
  return <IconButton icon={THEME_ICONS[chosen]} size={17} label={label} title={label} onClick={nextTheme} />
}

const KEYS: ReadonlyArray<readonly [string, string]> = [
  ['Ctrl K', 'open the palette'],
  ['/', 'search on this page'],
  ['j  k', 'next and previous row of a list'],
  ['x', 'select the row'],
  ['Enter', 'open the row'],
  ['?', 'show this'],
]

function Help({ onClose }: { readonly onClose: () => void }) {
  const places = PLACES.map(({ key, name }) => [`g ${key}`, `go to ${name}`] as const)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {[...KEYS, ...places].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
