import { isDeepStrictEqual } from 'node:util'

/**
 * The parts of one kind that run, such as the mappings. A deployment leaves a part alone if nothing about it has changed. Otherwise it
 * replaces the part, and the old one ends after the work that it has under way. `start` gets the end of the part that it replaces.
 */
export function createReplaceable<Spec, Part extends { stop(): Promise<void> }>(
  idOf: (spec: Spec) => string,
  start: (spec: Spec, after: Promise<void>) => Part,
) {
  const running = new Map<string, { readonly spec: Spec; readonly part: Part }>()
  const leaving = new Set<Promise<void>>()
  const all = () => [...running.values()].map(({ part }) => part)

  function leave(part: Part): Promise<void> {
    const left: Promise<void> = part.stop().finally(() => leaving.delete(left))
    leaving.add(left)
    return left
  }

  return {
    all,
    /** Runs these parts from now on, and ends the others. */
    deploy: (specs: readonly Spec[]) => {
      const before = new Map(running)
      running.clear()
      for (const spec of specs) {
        const id = idOf(spec)
        const present = before.get(id)
        before.delete(id)
        const isSame = present !== undefined && isDeepStrictEqual(present.spec, spec)
        const after = present && !isSame ? leave(present.part) : Promise.resolve()
        running.set(id, isSame ? present : { spec, part: start(spec, after) })
      }
      for (const { part } of before.values()) void leave(part)
    },
    stop: async () => {
      await Promise.all([...all().map(part => part.stop()), ...leaving])
    },
  }
}
