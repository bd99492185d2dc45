import type { ScenarioKind } from '../generate/generate.ts'
import type { Verdict } from '../simulate/judge.ts'
import { startPlayer } from '../simulate/player.ts'
import type { ChangedSource } from './changed-source.ts'

/** A scenario by its seed. Without `only` it is an ordinary one. */
export type Chosen = { readonly seed: number; readonly only?: ScenarioKind }

/** What a thread plays, and on which source. */
export type SourcePlay = { readonly changed: ChangedSource; readonly scenarios: readonly Chosen[] }

/** How a fault was found: after how many scenarios, and by which promise. */
export type Found = { readonly scenarios: number; readonly verdict: Verdict }

/** The program of a thread that plays scenarios on changed source. */
export const SOURCE_THREAD = new URL('./source-thread.ts', import.meta.url)
/** Some faults make a scenario endless. Most scenarios take some dozens of milliseconds. */
const ENDLESS_MS = 120_000

/** Plays scenarios on changed source until one is broken; undefined when none of them is. */
export async function findFault(play: SourcePlay): Promise<Found | undefined> {
  const player = startPlayer(SOURCE_THREAD, { source: play, endlessMs: ENDLESS_MS })
  let scenarios = 0
  try {
    for (const nth of play.scenarios.keys()) {
      scenarios += 1
      const { broken } = await player.play(nth)
      if (broken) return { scenarios, verdict: broken }
    }
    return undefined
  } finally {
    await player.end()
  }
}

/** Scenarios with the seeds from `from`: ordinary ones, or of the kind `only`. */
export function scenariosFrom(from: number, count: number, only?: ScenarioKind): Chosen[] {
  return Array.from({ length: count }, (_, nth) => ({ seed: from + nth, ...(only && { only }) }))
}
