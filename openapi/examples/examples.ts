import type { Operation } from '../../shared/service/operation.ts'
import { canvasSteps } from './canvases.ts'
import type { Step } from './exchange.ts'
import { createMemoryStage } from './memory-stage.ts'
import { observingSteps } from './observing.ts'
import { type Exchanged, play } from './play.ts'
import { scheduleSteps } from './schedules.ts'
import { endSteps, publishSteps } from './tasks.ts'
import { loadSteps, purgeSteps, typeSteps } from './types.ts'
import { reportSteps, workSteps } from './work.ts'

/**
 * The examples of the document are one true conversation with the API: each request has its answer. They are recorded, not written: a
 * whole system in memory and in virtual time answers (`memory-stage.ts`), always with the same times and ids. A change of the API changes
 * the recording, and so the document. A slow test holds the same conversation with the local system.
 *
 * The chapters are data (`tasks.ts`, `work.ts` and so on): requests in the order in which each finds what it needs. `play.ts` holds the
 * conversation with any system.
 */
export const CONVERSATION: readonly Step[] = [
  ...typeSteps,
  ...publishSteps,
  ...workSteps,
  ...loadSteps,
  ...reportSteps,
  ...canvasSteps,
  ...scheduleSteps,
  ...observingSteps,
  ...endSteps,
  ...purgeSteps,
]

/** Records the conversation. */
export function recordExamples(operations: readonly Operation[]): Promise<Exchanged[]> {
  return play(operations, CONVERSATION, createMemoryStage(operations))
}
