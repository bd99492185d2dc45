import type { DiagnosticSystem, System } from '../runtime/kernel/system.ts'
import type { Operation } from './operation.ts'
import { canvasOperations } from './operations/canvases.ts'
import { claimOperations } from './operations/claims.ts'
import { deadLetterOperations } from './operations/dead-letters.ts'
import { eventOperations } from './operations/events.ts'
import { failureOperations } from './operations/failures.ts'
import { activityOperations, loadOperations } from './operations/load.ts'
import { previousOperations } from './operations/previous.ts'
import { publishOperations } from './operations/publish.ts'
import { runBatchOperations } from './operations/run-batches.ts'
import { runOperations } from './operations/runs.ts'
import { scheduleOperations } from './operations/schedules.ts'
import { serviceOperations } from './operations/service.ts'
import { taskOperations } from './operations/tasks.ts'
import { typeOperations } from './operations/types.ts'
import { whyOperations } from './operations/why.ts'
import { workerOperations } from './operations/workers.ts'

/** The operations that any system serves. */
export const OPERATIONS: readonly Operation<System>[] = [
  ...publishOperations,
  ...taskOperations,
  ...previousOperations,
  ...claimOperations,
  ...runOperations,
  ...runBatchOperations,
  ...typeOperations,
  ...canvasOperations,
  ...scheduleOperations,
  ...failureOperations,
  ...workerOperations,
  ...eventOperations,
  ...loadOperations,
  ...serviceOperations,
]

/** Every operation of the API. */
export const ALL_OPERATIONS: readonly Operation<DiagnosticSystem>[] = [
  ...OPERATIONS,
  ...whyOperations,
  ...activityOperations,
  ...deadLetterOperations,
]
