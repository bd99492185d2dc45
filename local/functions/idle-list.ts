/** Lambda keeps idle sandboxes for minutes; so do we, then give the memory back. */
const IDLE_KEPT_MS = 5 * 60_000

/** Things at rest, the last one used first; one that rests too long is retired. */
export type IdleList<T> = {
  readonly size: () => number
  put(entry: T): void
  take(): T | undefined
  remove(entry: T): void
}

export function createIdleList<T>(retire: (entry: T) => void): IdleList<T> {
  const timers = new Map<T, NodeJS.Timeout>()

  function remove(entry: T) {
    clearTimeout(timers.get(entry))
    timers.delete(entry)
  }

  return {
    size: () => timers.size,
    put: entry => {
      const timer = setTimeout(() => {
        remove(entry)
        retire(entry)
      }, IDLE_KEPT_MS)
      timers.set(entry, timer)
    },
    take: () => {
      const entry = [...timers.keys()].at(-1)
      if (entry !== undefined) remove(entry)
      return entry
    },
    remove,
  }
}
