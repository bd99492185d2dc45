/** Whose run holds a permit: who recorded it, for which task, and when. */
export type Holder = { readonly holder: string; readonly taskId: string; readonly since: number }

/** All that is recorded of a concurrency limit; `waitsSince`: when it was last seen to that somebody waits for a permit. */
export type HeldPermits = { readonly holders: readonly Holder[]; readonly waitsSince?: number }

/**
 * A message that makes the waker see to those who wait for permits of a limit. It comes again as long as somebody does;
 * `quiet`: how often in a row nobody did. Left out: a permit was given back, and it comes once. `delaySeconds` is a whole
 * number from 0 to 900.
 */
export type LimitLook = { readonly limit: string; readonly quiet?: number; readonly delaySeconds: number }
