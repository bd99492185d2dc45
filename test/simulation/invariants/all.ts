import { OF_BEGINNINGS } from './beginnings.ts'
import { OF_BIRTHS } from './births.ts'
import { OF_CALLBACKS } from './callbacks.ts'
import { OF_CANVASES } from './canvases.ts'
import { OF_FAULTS } from './faults.ts'
import { OF_FLOWS } from './flows.ts'
import { OF_INPUTS } from './handed-on.ts'
import type { Invariant } from './invariant.ts'
import { OF_WHAT_IS_KEPT } from './kept.ts'
import { OF_LIMITS } from './limits.ts'
import { OF_LOST_TICKS } from './lost-ticks.ts'
import { OF_PAUSES } from './pauses.ts'
import { OF_PERMITS } from './permits.ts'
import { OF_TIME } from './promptness.ts'
import { OF_PURGES } from './purges.ts'
import { OF_REPORTS } from './reports.ts'
import { OF_RUNS } from './runs.ts'
import { OF_SCHEDULES } from './schedules.ts'
import { OF_SENDS } from './sends.ts'
import { OF_SERVERS } from './servers.ts'
import { OF_THE_END } from './settling.ts'
import { OF_TENANTS } from './tenants.ts'
import { OF_WORDS } from './words.ts'
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
