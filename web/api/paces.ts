/**
 * How often answers on screen are asked again, in milliseconds. All that is due is asked in one round, and rounds are `PACE_MS` apart,
 * so a view asks at most so often, however many questions it has.
 */
export const PACE_MS = 2_000
/** What is open changes by itself, and a type may be without events. */
export const OPEN_MS = 5_000
/** For each list of ten types that a list consists of. */
export const LIST_MS = 3_000
/** The activity of the present minute. */
export const ACTIVITY_MS = 10_000
/** Answers that rarely change. */
export const SLOW_MS = 15_000
/** Failures and what waits for an operator: each type, halted task and dead letter costs half a read unit or more. */
export const ATTENTION_MS = 60_000
/** Counts cost up to 10 read units for each thousand that they count, so many tasks are counted less often. */
export const MANY_COUNTS_MS = 90_000

/** On a deployed system each question costs. A page that was not touched for this long asks so many times less often. */
export const UNTOUCHED_MS = 600_000
export const UNTOUCHED_FACTOR = 10

/** Counts stop here, and the page shows a `+`. A reader may ask for the whole number. */
export const COUNTED_MAX = 1_000
