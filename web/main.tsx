/**
 * The dashboard. It speaks to the HTTP API that serves it, and to nothing else.
 *
 * - this file: the pages and their addresses. The address of a page has all that the page shows, filters included;
 * - `api/`: the client, the questions that pages ask, and what keeps the answers up to date;
 * - `shell/`: the frame around each page, with navigation, palette, keys and theme;
 * - `parts/`: what pages are made of;
 * - one folder for each page; `styles/`: how all of it looks.
 */

import { QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { startLive } from './api/live.ts'
import { queries } from './api/queries.ts'
import { parseSearch, stringifySearch } from './api/search.ts'
import { Empty, Failure, Loading } from './parts/page.tsx'
import { lazyPage, loadPagesAhead, openPagesAgain, type Pages } from './shell/lazy-page.tsx'
import { Shell } from './shell/shell.tsx'
import { readTaskFilter } from './tasks/filter.ts'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no page at this address" />,
})
const under = () => root

function page<Path extends string, Name extends string>(
  path: Path,
  load: () => Promise<Pages<Name>>,
  name: Name,
) {
  return createRoute({ getParentRoute: under, path, component: lazyPage(load, name) })
}

const tasks = createRoute({
  getParentRoute: under,
  path: '/tasks',
  validateSearch: readTaskFilter,
  component: lazyPage(() => import('./tasks/tasks-page.tsx'), 'TasksPage'),
})
const task = createRoute({
  getParentRoute: under,
  path: '/tasks/$id',
  // The canvas of a member, which knows why a task is not published yet.
  validateSearch: ({ canvasId }: Record<string, unknown>): { canvasId?: string } =>
    typeof canvasId === 'string' ? { canvasId } : {},
  component: lazyPage(() => import('./task/task-page.tsx'), 'TaskPage'),
})
const router = createRouter({
  routeTree: root.addChildren([
    page('/', () => import('./overview/overview-page.tsx'), 'OverviewPage'),
    page('/attention', () => import('./overview/attention-page.tsx'), 'AttentionPage'),
    tasks,
    task,
    page('/canvases', () => import('./canvases/canvases-page.tsx'), 'CanvasesPage'),
    page('/canvases/$id', () => import('./canvases/canvas-page.tsx'), 'CanvasPage'),
    page('/types', () => import('./types/types-page.tsx'), 'TypesPage'),
    page('/types/$type', () => import('./types/type-page.tsx'), 'TypePage'),
    page('/schedules', () => import('./schedules/schedules-page.tsx'), 'SchedulesPage'),
    page('/schedules/$name', () => import('./schedules/schedule-page.tsx'), 'SchedulePage'),
    page('/workers', () => import('./operate/workers-page.tsx'), 'WorkersPage'),
    page('/failures', () => import('./operate/failures-page.tsx'), 'FailuresPage'),
    page('/dead-letters', () => import('./operate/dead-letters-page.tsx'), 'DeadLettersPage'),
    page('/events', () => import('./operate/events-page.tsx'), 'EventsPage'),
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }) => (
    <Failure
      error={error}
      onRetry={() => {
        openPagesAgain()
        reset()
      }}
    />
  ),
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

/** The code of the other pages does not compete with the answers that the first view needs. */
const FIRST_VIEW_MS = 2_000

const element = document.querySelector('#root')
if (element) {
  startLive()
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
  addEventListener('load', () => setTimeout(loadPagesAhead, FIRST_VIEW_MS), { once: true })
}
