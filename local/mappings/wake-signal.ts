/** A signal that several readers wait for. */
export type WakeSignal = {
  ring(): void
  /**
   * Waits for the signal, but at most `idleMs`. The waits after a signal are the short ones of `looksMs`, one after the other,
   * because the announced record may become visible a moment later.
   */
  wait(idleMs: number, looksMs: readonly number[]): Promise<void>
}

export function createWakeSignal(): WakeSignal {
  const sleepers = new Set<() => void>()
  let looks = Number.POSITIVE_INFINITY

  return {
    ring: () => {
      looks = 0
      for (const wake of [...sleepers]) wake()
    },
    wait: (idleMs, looksMs) =>
      new Promise(resolve => {
        const ms = looksMs[looks] ?? idleMs
        looks += 1
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
