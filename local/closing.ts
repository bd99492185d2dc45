type Step = () => Promise<void> | void

/**
 * Ends the parts of the cloud when it stops, or when its boot fails half way. `first`, `part` and `last` end nothing at once: each
 * registers an `end`, which `run` calls.
 */
export type Closing = {
  /** Registers an end that runs before all others. Such a service needs the other parts to stop in order. */
  first(end: Step): void
  /** Registers an end that runs after the first ones, at the same time as those of all other parts: most parts wait for each other. */
  part(end: Step): void
  /** Registers an end that runs after those of all parts. State is written there, when no part changes it any more. */
  last(end: Step): void
  /** Calls all registered ends, once. A second call returns the promise of the first. */
  run(): Promise<void>
  /** Whether `run` was called. */
  hasBegun(): boolean
}

export function createClosing(): Closing {
  const firsts: Step[] = []
  const parts: Step[] = []
  const lasts: Step[] = []
  const all = (steps: Step[]) => Promise.allSettled(steps.splice(0).map(async step => step()))
  let closed: Promise<void> | undefined

  async function close() {
    await all(firsts)
    await all(parts)
    await all(lasts)
  }

  return {
    first: end => void firsts.push(end),
    // A part that starts while the others end would outlive them.
    part: end => void (closed ? end() : parts.push(end)),
    last: end => void lasts.push(end),
    run: () => {
      closed ??= close()
      return closed
    },
    hasBegun: () => closed !== undefined,
  }
}
