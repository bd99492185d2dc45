import { useNavigate } from '@tanstack/react-router'
import {
  Activity,
  Boxes,
  CalendarClock,
  CircleX,
  Cpu,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MailX,
} from 'lucide-react'
import { useEffect } from 'react'
import { isForPage } from '../parts/keys.ts'

type Path = '/' | '/tasks' | '/failures' | '/dead-letters' | '/types' | '/schedules' | '/workers' | '/events'

/** A page of the navigation. `key` after `g` leads there. */
type Place = { readonly to: Path; readonly name: string; readonly key: string; readonly icon: LucideIcon }

export const PLACES: readonly Place[] = [
  { to: '/', name: 'Overview', key: 'o', icon: LayoutDashboard },
  { to: '/tasks', name: 'Tasks', key: 't', icon: ListChecks },
  { to: '/failures', name: 'Failures', key: 'f', icon: CircleX },
  { to: '/dead-letters', name: 'Dead letters', key: 'd', icon: MailX },
  { to: '/types', name: 'Types', key: 'y', icon: Boxes },
  { to: '/schedules', name: 'Schedules', key: 's', icon: CalendarClock },
  { to: '/workers', name: 'Workers', key: 'w', icon: Cpu },
  { to: '/events', name: 'Events', key: 'e', icon: Activity },
]

/** After `g`, the next key within this time names a page. */
const GO_MS = 1_500

/** The keys that work on every page. `j`, `k`, `x` and Enter belong to lists. */
export function useShortcuts({
  openPalette,
  openHelp,
}: {
  openPalette: () => void
  openHelp: () => void
}): void {
  const navigate = useNavigate()
  useEffect(() => {
    let goUntil = 0
    const keys: Record<string, (event: KeyboardEvent) => void> = {
      '/': event => focusSearch(event, openPalette),
      '?': openHelp,
    }
    const onKey = (event: KeyboardEvent) => {
      if (isPaletteKey(event)) {
        event.preventDefault()
        openPalette()
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
  }, [navigate, openPalette, openHelp])
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
