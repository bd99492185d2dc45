import { CANVAS_FAULTS } from './canvases.ts'
import { CONTROL_FAULTS } from './control.ts'
import { FLOW_FAULTS } from './flows.ts'
import { LONG_FAULTS } from './long.ts'
import { MESSAGE_FAULTS } from './messages.ts'
import type { PlantedFault } from './planted-fault.ts'
import { REPORT_ANSWER_FAULTS } from './report-answers.ts'
import { SCHEDULE_FAULTS } from './schedules.ts'
import { TRIAL_FAULTS } from './trials.ts'
import { WRITE_FAULTS } from './writes.ts'

/**
 * Every planted fault, by the part of the system that it concerns. `planted.slow.test.ts` requires that the
 * invariants notice each of them.
 */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...WRITE_FAULTS,
  ...MESSAGE_FAULTS,
  ...FLOW_FAULTS,
  ...CANVAS_FAULTS,
  ...SCHEDULE_FAULTS,
  ...CONTROL_FAULTS,
  ...TRIAL_FAULTS,
  ...REPORT_ANSWER_FAULTS,
  ...LONG_FAULTS,
]
