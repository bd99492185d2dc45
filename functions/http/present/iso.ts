/** A time as the API shows it: ISO 8601 in UTC. */
export function iso(time: number): string {
  return new Date(time).toISOString()
}
