import { CALM, type Scenario, type ServedBy, type TypeSetup, type WorkerSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'

/** Draws the scenarios of one trial. */
export type Trial = (dice: Dice, seed: number) => Scenario

/** What is CALM for everybody, but not known to be so from the beginning: promptness in calm weather is not judged. */
const STILL = { ...CALM }

/** A scenario with nothing in it but what is given. */
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

/** So many workers of a type; a Lambda needs none. */
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
