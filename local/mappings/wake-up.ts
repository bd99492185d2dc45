/** A bell that several readers wait for. */
export type WakeSignal = {
  ring(): void
  /**
   * Waits until rung, at most `idleMs`. After a ring the next waits are the short ones of `looksMs`, one after the
   * other, because what the ring announces may show a moment later.
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
