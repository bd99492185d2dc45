import type { DiagnosticSystem, System } from '../runtime/kernel/system.ts'
import type { Operation } from './operation.ts'
import { bulkOperations } from './operations/bulk.ts'
import { canvasOperations, previousOperations } from './operations/canvases.ts'
import { activityOperations, loadOperations, whyOperations } from './operations/diagnosis.ts'
import { logOperations } from './operations/log.ts'
import { deadLetterOperations, observingOperations, serviceOperations } from './operations/observing.ts'
import { publishOperations } from './operations/publish.ts'
import { claimOperations, runOperations } from './operations/runs.ts'
import { scheduleOperations } from './operations/schedules.ts'
import { searchOperations } from './operations/search.ts'
import { taskOperations } from './operations/tasks.ts'
import { typeOperations } from './operations/types.ts'

/** The operations that any system serves. */
export const OPERATIONS: readonly Operation<System>[] = [
  ...publishOperations,
  ...taskOperations,
  ...searchOperations,
  ...logOperations,
  ...previousOperations,
  ...bulkOperations,
  ...claimOperations,
  ...runOperations,
  ...typeOperations,
  ...canvasOperations,
  ...scheduleOperations,
  ...observingOperations,
  ...loadOperations,
  ...serviceOperations,
]

export const ALL_OPERATIONS: readonly Operation<DiagnosticSystem>[] = [
  ...OPERATIONS,
  ...whyOperations,
  ...activityOperations,
  ...deadLetterOperations,
]
