import { Worker } from 'node:worker_threads'
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
 * The scenarios that a mutant is played on, by their numbers: those that execute it, the quickest first. The others play as on unchanged
 * source, so they cannot find it. A place that runs while a module is loaded is played on every second scenario of all kinds.
 */
export function orderFor(nth: number, { baselines, loaded }: Reach): number[] {
  if (loaded.includes(nth)) return [...baselines.keys()].filter(scenario => scenario % 2 === 0)
  return baselines
    .map(({ ms, reached }, scenario) => ({ scenario, ms, isReached: reached.includes(nth) }))
    .filter(({ isReached }) => isReached)
    .sort((a, b) => a.ms - b.ms)
    .map(({ scenario }) => scenario)
}
