/** A time as the API shows it: ISO 8601 in UTC. */
export function iso(time: number): string {
  return new Date(time).toISOString()
}

/** Like `iso`, for a time that may be missing. */
export function isoOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : iso(time)
}
