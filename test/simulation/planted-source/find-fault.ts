import type { ScenarioKind } from '../generate/generate.ts'
import type { Verdict } from '../simulate/judge.ts'
import { startPlayer } from '../simulate/player.ts'
import type { ChangedSource } from './changed-source.ts'

/** A scenario by its seed. Without `only` it is an ordinary one. */
export type Chosen = { readonly seed: number; readonly only?: ScenarioKind }

/** What a thread plays, and on which source. */
export type SourcePlay = { readonly changed: ChangedSource; readonly scenarios: readonly Chosen[] }

/** How a fault was found: by which scenario, after how many, and by which promise. */
export type Found = { readonly nth: number; readonly scenarios: number; readonly verdict: Verdict }

const PROGRAM = new URL('./source-thread.ts', import.meta.url)
/** Some faults make a scenario endless. Most scenarios take some dozens of milliseconds. */
const ENDLESS_MS = 120_000

/**
 * Plays scenarios on changed source until one is broken; undefined when none of them is. `order` has the numbers of the scenarios.
 */
export async function findFault(
  play: SourcePlay,
  order: Iterable<number> = play.scenarios.keys(),
): Promise<Found | undefined> {
  const player = startPlayer(PROGRAM, { source: play, endlessMs: ENDLESS_MS })
  let scenarios = 0
  try {
    for (const nth of order) {
      scenarios += 1
      const { broken } = await player.play(nth)
      if (broken) return { nth, scenarios, verdict: broken }
    }
    return undefined
  } finally {
    await player.end()
  }
}

/** Ordinary scenarios: the seeds from `from`. */
export function ordinary(from: number, count: number): Chosen[] {
  return Array.from({ length: count }, (_, nth) => ({ seed: from + nth }))
}
