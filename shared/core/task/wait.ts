/** A start that is reserved under a rate limit. */
export type Slot = {
  /** The start may not begin before this time. */
  readonly at: number
  /** The limit under which the slot was reserved, such as `50/1000`. The slot is void under a changed limit. */
  readonly rateText: string
}

/**
 * The wait of a due task that a limit of its type keeps from running. The next change of the task ends the wait, unless it sets a
 * wait itself or is a heartbeat. The next claim then asks for a slot or a permit anew.
 *
 * - `slot`    a slot under a rate limit is reserved for the task
 * - `permit`  a concurrency limit is used up; the task is in the limit's place until a run gives a permit back
 */
export type Wait =
  | ({ readonly kind: 'slot'; readonly limit: string } & Slot)
  | { readonly kind: 'permit'; readonly limit: string }

/** The right to run under a concurrency limit. Each run has a `holder` of its own. */
export type Permit = { readonly limit: string; readonly holder: string }
