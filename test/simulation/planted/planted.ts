import { IN_CANVASES } from './canvases.ts'
import { IN_CONTROL } from './control.ts'
import { IN_FLOWS } from './flows.ts'
import { IN_MESSAGES } from './messages.ts'
import type { Planted } from './planted-fault.ts'
import { IN_WORDS } from './report-answers.ts'
import { IN_SCHEDULES } from './schedules.ts'
import { IN_TRIALS } from './trials.ts'
import { IN_WRITES } from './writes.ts'

/** Every fault that the simulation is tried with. */
export const PLANTED: readonly Planted[] = [
  ...IN_WRITES,
  ...IN_MESSAGES,
  ...IN_FLOWS,
  ...IN_CANVASES,
  ...IN_SCHEDULES,
  ...IN_CONTROL,
  ...IN_TRIALS,
  ...IN_WORDS,
]
