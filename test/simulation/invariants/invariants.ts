import { OF_CALLBACKS } from './callbacks.ts'
import { OF_CANVASES } from './canvases/canvases.ts'
import { OF_INPUTS } from './canvases/handed-on.ts'
import { OF_FAULTS } from './faults.ts'
import { OF_FLOWS } from './flows.ts'
import type { Invariant } from './invariant.ts'
import { OF_WHAT_IS_KEPT } from './kept-fields.ts'
import { OF_LIMITS } from './limits/limits.ts'
import { OF_PERMITS } from './limits/permits.ts'
import { OF_TENANTS } from './limits/tenants.ts'
import { OF_PAUSES } from './pauses.ts'
import { OF_PURGES } from './purges.ts'
import { OF_WORDS } from './report-answers.ts'
import { OF_REPORTS } from './reports.ts'
import { OF_BEGINNINGS } from './runs/beginnings.ts'
import { OF_BIRTHS } from './runs/births.ts'
import { OF_TIME } from './runs/promptness.ts'
import { OF_RUNS } from './runs/runs.ts'
import { OF_SERVERS } from './runs/servers.ts'
import { OF_THE_END } from './runs/settling.ts'
import { OF_LOST_TICKS } from './schedules/lost-ticks.ts'
import { OF_SCHEDULES } from './schedules/schedules.ts'
import { OF_SENDS } from './sends.ts'
import { OF_WRITES } from './writes.ts'

/** Every promise that simulated runs are held to. */
export const INVARIANTS: readonly Invariant[] = [
  ...OF_WRITES,
  ...OF_BIRTHS,
  ...OF_RUNS,
  ...OF_WORDS,
  ...OF_BEGINNINGS,
  ...OF_REPORTS,
  ...OF_WHAT_IS_KEPT,
  ...OF_SERVERS,
  ...OF_FLOWS,
  ...OF_CALLBACKS,
  ...OF_CANVASES,
  ...OF_SCHEDULES,
  ...OF_LOST_TICKS,
  ...OF_INPUTS,
  ...OF_PURGES,
  ...OF_LIMITS,
  ...OF_PERMITS,
  ...OF_PAUSES,
  ...OF_TENANTS,
  ...OF_SENDS,
  ...OF_FAULTS,
  ...OF_TIME,
  ...OF_THE_END,
]
