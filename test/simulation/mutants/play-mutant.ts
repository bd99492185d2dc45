import { sourceOf } from '../planted-source/changed-source.ts'
import { type Chosen, SOURCE_THREAD } from '../planted-source/find-fault.ts'
import { startPlayer } from '../simulate/player.ts'
import { applied, type Mutant } from './mutate.ts'
import type { Reach } from './reach.ts'

/** What came of a mutant. */
export type Outcome = {
  /** The promise that found it; undefined when it survived. */
  readonly found: string | undefined
  /** How many scenarios were played, and how many of those did not have the events of the unchanged source. */
  readonly played: number
  readonly changed: number
}

/** Some mutants make a scenario endless. The longest scenario takes some seconds, and a minute on a busy machine. */
const ENDLESS_MS = 240_000
/** If so many scenarios play as on unchanged source, the others are taken to do so, too. */
const UNCHANGED_MAX = 400

/** Plays the scenarios of `order` on changed source until one is broken, or until the change seems to change nothing. */
export async function playMutant(
  mutant: Mutant,
  scenarios: readonly Chosen[],
  order: readonly number[],
  { baselines }: Reach,
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
      if (changed === 0 && played >= UNCHANGED_MAX) break
    }
    return { found: undefined, played, changed }
  } finally {
    await player.end()
  }
}
