import type { ScenarioKind } from '../generate/generate.ts'
import type { Verdict } from '../simulate/judge.ts'
import { startPlayer } from '../simulate/player.ts'
import type { ChangedSource } from './changed-source.ts'

/** How a fault was found: after how many seeds, and by which promise. */
export type Found = { readonly seeds: number; readonly seed: number; readonly verdict: Verdict }

const PROGRAM = new URL('./source-thread.ts', import.meta.url)
/** Some faults make a seed endless. Most seeds take some dozens of milliseconds. */
const ENDLESS_MS = 60_000

/** Plays seeds on changed source until one is broken; undefined when none of them is. */
export async function findFault(
  changed: ChangedSource,
  seeds: Iterable<number>,
  only?: ScenarioKind,
): Promise<Found | undefined> {
  const player = startPlayer(PROGRAM, { changed, only, endlessMs: ENDLESS_MS })
  let count = 0
  try {
    for (const seed of seeds) {
      count += 1
      const { broken } = await player.play(seed)
      if (broken) return { seeds: count, seed, verdict: broken }
    }
    return undefined
  } finally {
    await player.end()
  }
}

/** The seeds from `from`. */
export function seedsFrom(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, nth) => from + nth)
}
