/** A start that is reserved under a rate limit. */
export type Slot = {
  /** The start may not begin before this time. */
  readonly at: number
  /** The limit under which the slot was reserved, such as `50/1000`. The slot is void under a changed limit. */
  readonly rateText: string
}

/**
 * What a due task waits for while it is in the line of a limit: a slot under a rate limit, or a permit under a concurrency limit.
 * `limit` is the limit's name. The task holds no booking. The next change of the task ends the wait, unless it begins a wait itself or
 * is a heartbeat.
 */
export type Wait = { readonly kind: 'slot' | 'permit'; readonly limit: string }

/** The right to run under a concurrency limit. Each run has a `holder` of its own. */
export type Permit = { readonly limit: string; readonly holder: string }

/** The type of a limit's name; types have no `=`. */
export function typeOfLimit(name: string): string {
  return name.split('=', 1)[0] ?? name
}
