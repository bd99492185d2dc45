import { Worker } from 'node:worker_threads'
import type { ScenarioKind } from '../generate/generate.ts'
import type { Chosen } from '../planted-source/find-fault.ts'
import type { Mutant } from './mutate.ts'

/** What the thread is asked: which of the places each scenario executes. */
export type ReachQuestion = {
  readonly scenarios: readonly Chosen[]
  readonly places: ReadonlyArray<Pick<Mutant, 'path' | 'start'>>
}

/** How a scenario plays on unchanged source. */
export type Baseline = {
  readonly ms: number
  readonly events: number
  /** The places that it executes, by their number in the question. Places that run while a module is loaded are not among them. */
  readonly reached: readonly number[]
}

/** How the scenarios play, and the places that run while a module is loaded. Every scenario depends on these. */
export type Reach = { readonly baselines: readonly Baseline[]; readonly loaded: readonly number[] }

const PROGRAM = new URL('./reach-thread.ts', import.meta.url)

/** Plays the scenarios on the source as it is, and sees which mutants each of them would execute. */
export function reachOf(scenarios: readonly Chosen[], mutants: readonly Mutant[]): Promise<Reach> {
  const places = mutants.map(({ path, start }) => ({ path, start }))
  const { promise, resolve, reject } = Promise.withResolvers<Reach>()
  new Worker(PROGRAM, { execArgv: [], workerData: { scenarios, places } satisfies ReachQuestion })
    .once('message', resolve)
    .once('error', reject)
  return promise
}

/**
 * The scenarios that a mutant is played on, by their numbers: those that execute it, in turns of their kinds, the quickest of each kind
 * first. The others play as on unchanged source, so they cannot find it. A place that runs while a module is loaded is executed by all.
 */
export function orderFor(
  nth: number,
  kinds: ReadonlyArray<ScenarioKind | undefined>,
  reach: Reach,
): number[] {
  const isLoaded = reach.loaded.includes(nth)
  const turns = new Map<ScenarioKind | undefined, number>()
  return [...reach.baselines.entries()]
    .filter(([, { reached }]) => isLoaded || reached.includes(nth))
    .sort(([, a], [, b]) => a.ms - b.ms)
    .map(([scenario]) => {
      const turn = turns.get(kinds[scenario]) ?? 0
      turns.set(kinds[scenario], turn + 1)
      return { scenario, turn }
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ scenario }) => scenario)
}
