import { sourceOf } from '../planted-source/changed-source.ts'
import { type Chosen, SOURCE_THREAD } from '../planted-source/find-fault.ts'
import { startPlayer } from '../simulate/player.ts'
import { applied, type Mutant } from './mutate.ts'
import type { Baseline } from './reach.ts'

/** What came of a mutant. */
export type Outcome = {
  /** The promise that found it; undefined when it survived. */
  readonly found: string | undefined
  /** How many scenarios were played, and how many of those did not have the events of the unchanged source. */
  readonly played: number
  readonly changed: number
}

/** Some mutants make a scenario endless. The longest one takes some seconds. */
const ENDLESS_MS = 60_000

/** Plays the scenarios of `order` on changed source until one is broken. */
export async function playMutant(
  mutant: Mutant,
  scenarios: readonly Chosen[],
  order: readonly number[],
  baselines: readonly Baseline[],
): Promise<Outcome> {
  const changedSource = { [mutant.path]: applied(sourceOf(mutant.path), mutant) }
  const player = startPlayer(SOURCE_THREAD, {
    source: { changed: changedSource, scenarios },
    endlessMs: ENDLESS_MS,
  })
  let [played, changed] = [0, 0]
  try {
    for (const nth of order) {
      const { broken, events } = await player.play(nth)
      played += 1
      if (broken) return { found: broken.invariant, played, changed }
      if (events !== baselines[nth]?.events) changed += 1
    }
    return { found: undefined, played, changed }
  } finally {
    await player.end()
  }
}
