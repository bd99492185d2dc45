import type { Route } from './route.ts'
import { canvasRoutes } from './routes/canvases.ts'
import { claimRoutes } from './routes/claims.ts'
import { deadLetterRoutes } from './routes/dead-letters.ts'
import { eventRoutes } from './routes/events.ts'
import { failureRoutes } from './routes/failures.ts'
import { loadRoutes } from './routes/load.ts'
import { previousRoutes } from './routes/previous.ts'
import { publishRoutes } from './routes/publish.ts'
import { runBatchRoutes } from './routes/run-batches.ts'
import { runRoutes } from './routes/runs.ts'
import { scheduleRoutes } from './routes/schedules.ts'
import { serviceRoutes } from './routes/service.ts'
import { taskRoutes } from './routes/tasks.ts'
import { typeRoutes } from './routes/types.ts'
import { whyRoutes } from './routes/why.ts'
import { workerRoutes } from './routes/workers.ts'

/** Every route of the HTTP API. */
export const allRoutes: readonly Route[] = [
  ...publishRoutes,
  ...taskRoutes,
  ...whyRoutes,
  ...previousRoutes,
  ...claimRoutes,
  ...runRoutes,
  ...runBatchRoutes,
  ...typeRoutes,
  ...canvasRoutes,
  ...scheduleRoutes,
  ...failureRoutes,
  ...workerRoutes,
  ...eventRoutes,
  ...loadRoutes,
  ...deadLetterRoutes,
  ...serviceRoutes,
]
