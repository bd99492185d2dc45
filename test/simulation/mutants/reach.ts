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
  /** The places that it executes, by their number in the question. */
  readonly reached: readonly number[]
}

const PROGRAM = new URL('./reach-thread.ts', import.meta.url)

/** Plays the scenarios on the source as it is, and sees which mutants each of them would execute. */
export function baselinesOf(scenarios: readonly Chosen[], mutants: readonly Mutant[]): Promise<Baseline[]> {
  const places = mutants.map(({ path, start }) => ({ path, start }))
  const { promise, resolve, reject } = Promise.withResolvers<Baseline[]>()
  new Worker(PROGRAM, { execArgv: [], workerData: { scenarios, places } satisfies ReachQuestion })
    .once('message', resolve)
    .once('error', reject)
  return promise
}

/**
 * The numbers of the scenarios that execute a mutant, the quickest first. The others play as on unchanged source, so they cannot find it.
 */
export function orderFor(nth: number, baselines: readonly Baseline[]): number[] {
  return baselines
    .map(({ ms, reached }, scenario) => ({ scenario, ms, isReached: reached.includes(nth) }))
    .filter(({ isReached }) => isReached)
    .sort((a, b) => a.ms - b.ms)
    .map(({ scenario }) => scenario)
}
