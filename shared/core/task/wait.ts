/** A start that was granted: not before `at`, and under these terms. */
export type Slot = {
  readonly at: number
  /** Names the limit as it was; under another one it is void. */
  readonly rateText: string
}

/**
 * What a due task waits for that limits of its type keep from running. Any other change of the task ends the wait; what
 * it waited for is then asked for anew.
 *
 * - `turn`    its start under a rate limit is reserved for this time
 * - `permit`  a concurrency limit is used up; it stands in the limit's place until a permit is given back
 */
export type Wait =
  | ({ readonly kind: 'slot'; readonly limit: string } & Slot)
  | { readonly kind: 'permit'; readonly limit: string }

/** Leave to run under a concurrency limit; `holder` is unlike that of any other run. */
export type Permit = { readonly limit: string; readonly holder: string }
