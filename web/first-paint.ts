import { askEarly } from './api/early.ts'

/**
 * Runs before the first paint, so that the page never flashes in the theme that was not chosen. `shell/theme.ts` stores it. The overview's
 * questions are on their way before its code is there.
 */
const chosen = localStorage.getItem('baton-theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen

/** The first questions of the overview, as the client asks them. */
const FIRST_QUESTIONS = ['/v1/types?limit=100', '/v1/activity?limit=100']
const LATER_QUESTIONS = [
  '/v1/schedules?limit=100',
  '/v1/workers?limit=100',
  '/v1/counts?atMost=1000&limit=100',
]

const addressOf = (path: string) => new URL(path, location.href).href

if (location.pathname === '/' && document.visibilityState !== 'hidden')
  askEarly(FIRST_QUESTIONS.map(addressOf), LATER_QUESTIONS.map(addressOf))
