import { availableParallelism } from 'node:os'
import type { ScenarioKind } from '../generate/generate.ts'
import type { Verdict } from './judge.ts'
import { startPlayer } from './player.ts'
import type { Played } from './simulate.ts'

export type BrokenSeed = { readonly seed: number; readonly verdict: Verdict }

/** The result of playing several seeds. */
export type Tally = {
  readonly seeds: number
  readonly events: number
  readonly virtualMs: number
  /** Broken seeds, in ascending order. */
  readonly broken: readonly BrokenSeed[]
}

export type Seeds = {
  readonly from: number
  readonly count: number
  /** Once this many seeds are broken, no further seed is started. */
  readonly mostBroken?: number
  readonly onProgress?: (tally: Tally) => void
  /** Plays only scenarios of this kind. */
  readonly only?: ScenarioKind | undefined
  /** The program of each thread. */
  readonly program?: URL
}

const PROGRAM = new URL('./seed-thread.ts', import.meta.url)

/**
 * Plays seeds on all cores. Seeds are started in order, and every started seed is finished. So the first broken
 * seed is the same every time.
 */
export async function playSeeds({
  from,
  count,
  mostBroken = 1,
  onProgress,
  only,
  program = PROGRAM,
}: Seeds): Promise<Tally> {
  let started = 0
  let tally: Tally = { seeds: 0, events: 0, virtualMs: 0, broken: [] }

  const next = () => {
    if (started >= count || tally.broken.length >= mostBroken) return undefined
    started += 1
    return from + started - 1
  }
  const playOn = async () => {
    const player = startPlayer(program, { only })
    for (let seed = next(); seed !== undefined; seed = next()) {
      const played = await player.play(seed)
      tally = plus(tally, seed, played)
      onProgress?.(tally)
    }
    await player.end()
  }
  await Promise.all(Array.from({ length: Math.min(count, availableParallelism()) }, playOn))
  return { ...tally, broken: tally.broken.slice(0, mostBroken) }
}

function plus(tally: Tally, seed: number, { broken, events, virtualMs }: Played): Tally {
  const all = broken ? [...tally.broken, { seed, verdict: broken }] : tally.broken
  return {
    seeds: tally.seeds + 1,
    events: tally.events + events,
    virtualMs: tally.virtualMs + virtualMs,
    broken: all.toSorted((a, b) => a.seed - b.seed),
  }
}
