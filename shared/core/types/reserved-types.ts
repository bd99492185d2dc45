import { CANVAS_TYPE } from '../task/canvas-state.ts'
import { SCHEDULE_TYPE } from '../task/schedule-state.ts'

/** Types under which no tasks stand in the table: what the name is for, and where that is found. */
const RESERVED: Readonly<Record<string, string>> = {
  [CANVAS_TYPE]: 'stands for canvases, which are published with POST /v1/canvases',
  [SCHEDULE_TYPE]: 'stands for schedules, which are set with PUT /v1/schedules/{name}',
}

/** What the name of a type is taken for; undefined when task types may have it. */
export function reservedFor(type: string): string | undefined {
  return Object.hasOwn(RESERVED, type) ? RESERVED[type] : undefined
}
