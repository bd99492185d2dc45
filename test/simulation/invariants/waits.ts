/** What waits for a change, by name, and since when. That time may lie ahead. */
export type Waits = {
  /** Without a time, the thing waits no longer. */
  set(name: string, since: number | undefined): void
  /** The thing that has waited longest, if that is longer than `withinMs` after `notBefore`. */
  late(at: number, withinMs: number, notBefore?: number): string | undefined
}

export function createWaits(): Waits {
  const waiting = new Map<string, number>()
  let earliest = Number.POSITIVE_INFINITY
  return {
    set: (name, since) => {
      if (since === undefined && !waiting.delete(name)) return
      if (since !== undefined) waiting.set(name, since)
      earliest = Math.min(...waiting.values())
    },
    late: (at, withinMs, notBefore = 0) => {
      if (at - Math.max(earliest, notBefore) <= withinMs) return undefined
      const [name] = [...waiting].find(([, since]) => since === earliest) ?? []
      return name && `${name} has waited for ${Math.round((at - earliest) / 1_000)} s`
    },
  }
}
