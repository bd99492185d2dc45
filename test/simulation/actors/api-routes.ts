import * as z from 'zod'
import { check } from '../../../functions/http/check.ts'
import type { Answer, Route, Api as RouteApi } from '../../../functions/http/route.ts'
import { canvasRoutes } from '../../../functions/http/routes/canvases.ts'
import { failureRoutes } from '../../../functions/http/routes/failures.ts'
import { loadRoutes } from '../../../functions/http/routes/load.ts'
import { taskRoutes } from '../../../functions/http/routes/tasks.ts'
import { typeRoutes } from '../../../functions/http/routes/types.ts'
import { whyRoutes } from '../../../functions/http/routes/why.ts'
import { canvasAnswer } from '../../../shared/api/canvases.ts'
import { failuresPage } from '../../../shared/api/diagnosis/failures.ts'
import { activityPage, allCountsPage, limitUsage } from '../../../shared/api/diagnosis/load.ts'
import { whyAnswer } from '../../../shared/api/diagnosis/why.ts'
import { task, taskPage } from '../../../shared/api/tasks.ts'
import { typePage } from '../../../shared/api/types.ts'
import { isOutage } from '../../../shared/core/errors.ts'
import { problemOfError } from '../../../shared/present/problems.ts'
import { DEFAULT_PACE } from '../../../shared/runtime/claim/wait-for-work.ts'
import type { DiagnosticSystem, PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { HttpWorkers } from '../../../shared/runtime/worker/announce-http-workers.ts'
import { limitsIn, liveWorkersIn, typesIn } from '../world/caches.ts'
import type { Question, ReadAnswer } from '../world/history.ts'

/** The routes of the HTTP API that only read, with the schemas that the API publishes for their answers. */

const ROUTES = new Map(
  [...taskRoutes, ...whyRoutes, ...loadRoutes, ...canvasRoutes, ...failureRoutes, ...typeRoutes].map(
    (route): [string, Route] => [route.operation, route],
  ),
)

const PUBLISHED: Readonly<Record<string, z.ZodType>> = {
  get: task,
  list: taskPage,
  why: whyAnswer,
  listCounts: allCountsPage,
  listActivity: activityPage,
  listFailures: failuresPage,
  listTypes: typePage,
  getCanvas: canvasAnswer,
  limitUsage,
}

const NO_QUERY = z.strictObject({})
const OK = 200

/** Asks a route as the API does, after the checks of the query. */
export async function askRoute(
  system: PlanningSystem,
  httpWorkers: HttpWorkers,
  { operation, params, query }: Question,
): Promise<ReadAnswer> {
  const route = ROUTES.get(operation)
  if (!route) throw new Error(`there is no route of ${operation}`)
  const checked = check(route.query ?? NO_QUERY, query)
  if (!checked.ok) return { status: 400, body: checked.problems }
  const call = {
    ...apiOf(system, httpWorkers),
    principal: 'a reader',
    params,
    query: checked.value,
    body: undefined,
    headers: new Headers(),
    requestId: 'a read',
  }
  const { status, body } = await route.handle(call).catch(answerOf)
  const fit = status === OK ? PUBLISHED[operation]?.safeParse(body) : undefined
  return { status, body, ...(fit?.error && { misfit: fit.error.message }) }
}

/**
 * The answer to a request that fails: without an answer of the store there is none.
 *
 * @throws the error of an outage.
 */
function answerOf(error: unknown): Answer {
  if (isOutage(error)) throw error
  const shown = problemOfError(error, 'a read')
  return { status: shown.status, body: shown }
}

function apiOf(system: PlanningSystem, httpWorkers: HttpWorkers): RouteApi {
  return {
    system: { ...system, ...NO_DEAD_LETTERS } as unknown as DiagnosticSystem,
    typeOf: typesIn(system),
    liveWorkers: liveWorkersIn(system),
    limitHolding: limitsIn(system),
    httpWorkers,
    claimPace: DEFAULT_PACE,
    version: 'simulated',
  }
}

/** The simulated queues give no message up. */
const NO_DEAD_LETTERS = { deadLetters: { noteOf: async () => undefined } }
