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
