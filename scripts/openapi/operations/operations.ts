import { canvasOperations } from './canvases.ts'
import type { Operation } from './operation.ts'
import { scheduleOperations } from './schedules.ts'
import { serviceOperations } from './service.ts'
import { taskOperations } from './tasks.ts'
import { typeOperations } from './types.ts'
import { workOperations } from './work.ts'

/** What the document says about each operation, by its name. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...taskOperations,
  ...workOperations,
  ...typeOperations,
  ...canvasOperations,
  ...scheduleOperations,
  ...serviceOperations,
}
