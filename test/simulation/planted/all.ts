import { IN_MESSAGES } from './messages.ts'
import type { Planted } from './planted.ts'
import { IN_WRITES } from './writes.ts'

/** Every fault that the simulation is tried with. */
export const PLANTED: readonly Planted[] = [...IN_WRITES, ...IN_MESSAGES]
