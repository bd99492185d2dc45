import { OF_BIRTHS } from './births.ts'
import type { Invariant } from './invariant.ts'
import { OF_TIME } from './promptness.ts'
import { OF_RUNS } from './runs.ts'
import { OF_THE_END } from './settling.ts'
import { OF_WRITES } from './writes.ts'

/** Every promise that simulated runs are held to. */
export const INVARIANTS: readonly Invariant[] = [
  ...OF_WRITES,
  ...OF_BIRTHS,
  ...OF_RUNS,
  ...OF_TIME,
  ...OF_THE_END,
]
