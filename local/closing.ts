type Step = () => Promise<void> | void

/** The parts that must end when the cloud stops, or when its boot fails half way. */
export type Closing = {
  /** Ends before everything else: a service must still reach the other parts to stop in order. */
  first(end: Step): void
  /** Ends at the same time as the other parts, because most of them wait for each other. */
  part(end: Step): void
  /** Ends after all parts: state is written when no part changes it any more. */
  last(end: Step): void
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
