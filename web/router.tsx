import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
} from '@tanstack/react-router'
import { parseSearch, stringifySearch } from './api/search.ts'
import { Empty, Failure, Loading } from './parts/page.tsx'
import { Shell } from './shell/shell.tsx'
import { readTaskFilter } from './tasks/filter.ts'

/** The pages, each with its address. The code of a page is loaded when a reader goes there, or points at a link to it. */

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no page at this address" />,
})
const under = () => root

const overview = createRoute({
  getParentRoute: under,
  path: '/',
  component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
})
const tasks = createRoute({
  getParentRoute: under,
  path: '/tasks',
  validateSearch: readTaskFilter,
  component: lazyRouteComponent(() => import('./tasks/tasks-page.tsx'), 'TasksPage'),
})
const task = createRoute({
  getParentRoute: under,
  path: '/tasks/$id',
  // The canvas of a member, which knows why a task is not published yet.
  validateSearch: ({ canvasId }: Record<string, unknown>): { canvasId?: string } =>
    typeof canvasId === 'string' ? { canvasId } : {},
  component: lazyRouteComponent(() => import('./task/task-page.tsx'), 'TaskPage'),
})
const canvas = createRoute({
  getParentRoute: under,
  path: '/canvases/$id',
  component: lazyRouteComponent(() => import('./canvases/canvas-page.tsx'), 'CanvasPage'),
})
const types = createRoute({
  getParentRoute: under,
  path: '/types',
  component: lazyRouteComponent(() => import('./types/types-page.tsx'), 'TypesPage'),
})
const type = createRoute({
  getParentRoute: under,
  path: '/types/$type',
  component: lazyRouteComponent(() => import('./types/type-page.tsx'), 'TypePage'),
})
const schedules = createRoute({
  getParentRoute: under,
  path: '/schedules',
  component: lazyRouteComponent(() => import('./schedules/schedules-page.tsx'), 'SchedulesPage'),
})
const workers = createRoute({
  getParentRoute: under,
  path: '/workers',
  component: lazyRouteComponent(() => import('./operate/workers-page.tsx'), 'WorkersPage'),
})
const failures = createRoute({
  getParentRoute: under,
  path: '/failures',
  component: lazyRouteComponent(() => import('./operate/failures-page.tsx'), 'FailuresPage'),
})
const deadLetters = createRoute({
  getParentRoute: under,
  path: '/dead-letters',
  component: lazyRouteComponent(() => import('./operate/dead-letters-page.tsx'), 'DeadLettersPage'),
})
const events = createRoute({
  getParentRoute: under,
  path: '/events',
  component: lazyRouteComponent(() => import('./operate/events-page.tsx'), 'EventsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    tasks,
    task,
    canvas,
    types,
    type,
    schedules,
    workers,
    failures,
    deadLetters,
    events,
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error, reset }: ErrorComponentProps) => <Failure error={error} onRetry={reset} />,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
