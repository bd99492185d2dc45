import { CALM, type Scenario, type ServedBy, type TypeSetup, type WorkerSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'

/** Draws the scenario of a seed within one trial. */
export type Trial = (dice: Dice, seed: number) => Scenario

/**
 * Equal to CALM but another object: invariants of promptness, which hold in calm weather, do not judge trials.
 */
const STILL = { ...CALM }

/** A scenario that is empty except for what is given. */
export function aScenario(seed: number, given: Partial<Scenario> & Pick<Scenario, 'trial'>): Scenario {
  return {
    seed,
    weather: STILL,
    calmAt: 0,
    types: [],
    flows: [],
    workers: [],
    steps: [],
    afterwardsMs: 0,
    ...given,
  }
}

export function aType(servedBy: ServedBy, given: Partial<TypeSetup> = {}): TypeSetup {
  return { type: `by-${servedBy}`, servedBy, defaults: {}, shards: 1, ...given }
}

/** `count` workers of a type. A Lambda needs none. */
export function workersOf({ type, servedBy }: TypeSetup, count: number, concurrency = 1): WorkerSetup[] {
  if (servedBy === 'lambda') return []
  const kind = servedBy === 'http' ? 'http' : 'standalone'
  return Array.from({ length: count }, (_, index) => ({
    kind,
    workerId: `${kind === 'http' ? 'h' : 'w'}${index + 1}`,
    types: [type],
    concurrency,
    startsAt: 0,
  }))
}
