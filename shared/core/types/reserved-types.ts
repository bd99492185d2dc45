import { CANVAS_TYPE } from '../task/canvas-state.ts'
import { SCHEDULE_TYPE } from '../task/schedule-state.ts'

/** Names that no task type may have: what each name stands for, and how to publish or set that. */
const RESERVED: Readonly<Record<string, string>> = {
  [CANVAS_TYPE]: 'stands for canvases, which are published with POST /v1/canvases',
  [SCHEDULE_TYPE]: 'stands for schedules, which are set with PUT /v1/schedules/{name}',
}

/** The purpose for which the name is reserved; undefined when a task type may have it. */
export function reservedFor(type: string): string | undefined {
  return Object.hasOwn(RESERVED, type) ? RESERVED[type] : undefined
}
