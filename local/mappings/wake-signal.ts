/** A signal that several readers wait for. */
export type WakeSignal = {
  ring(): void
  /**
   * Waits for the signal, but at most `idleMs`. The first waits after a signal last at most `shortWaitsMs`, one after the other.
   * The record that the signal announces may become readable a moment later.
   */
  wait(idleMs: number, shortWaitsMs: readonly number[]): Promise<void>
}

export function createWakeSignal(): WakeSignal {
  const sleepers = new Set<() => void>()
  let waitsSinceRing = Number.POSITIVE_INFINITY

  return {
    ring: () => {
      waitsSinceRing = 0
      for (const wake of [...sleepers]) wake()
    },
    wait: (idleMs, shortWaitsMs) =>
      new Promise(resolve => {
        const ms = shortWaitsMs[waitsSinceRing] ?? idleMs
        waitsSinceRing += 1
        const wake = () => {
          clearTimeout(timer)
          sleepers.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        sleepers.add(wake)
      }),
  }
}
