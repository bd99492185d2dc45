type Step = () => Promise<void> | void

/** What has to be ended when the cloud stops, or when its boot fails half way. */
export type Closing = {
  /** Comes before everything else: what must still reach the others to end in order. */
  first(end: Step): void
  /** Ends together with all other parts, because most of them wait for each other. */
  part(end: Step): void
  /** Comes when all parts have ended: state is written when nobody changes it any more. */
  last(end: Step): void
  run(): Promise<void>
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
    part: end => void parts.push(end),
    last: end => void lasts.push(end),
    run: () => {
      closed ??= close()
      return closed
    },
  }
}
