import type { Composition } from '../../../../shared/core/canvas/tree.ts'
import type { Job, Step } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial } from './trial.ts'

const PART = 'part'
const SUM = 'sum'
const SPAN_MS = 100_000
/** The members of a group end early, and the callback starts late: between these a purge may do harm. */
const EARLY_MS = 20_000

/** Ended tasks are purged while canvases that they are members of are still open. */
export const purgedCanvases: Trial = (dice, seed) => {
  let nonce = 0
  const job = (type: string, delayMsMax: number): Composition<Job> => {
    nonce += 1
    return {
      leaf: {
        ...{ type, nonce, padding: dice.pick([0, 0, 400]) },
        acts: [{ ms: dice.between(1, 500), end: dice.odds(0.95) ? 'succeed' : 'fatal' }],
        ...(dice.odds(0.7) && { delayMs: dice.between(1, delayMsMax) }),
        ...(dice.odds(0.3) && { isList: true as const }),
      },
    }
  }
  const chord = (): Composition<Job> => ({
    chord: {
      group: dice.many(1, 4, () => (dice.odds(0.2) ? chain() : job(PART, EARLY_MS))),
      then: job(SUM, SPAN_MS),
      ...(dice.odds(0.4) && { onError: job(SUM, SPAN_MS) }),
    },
  })
  const chain = (): Composition<Job> => ({ chain: dice.many(2, 3, () => job(PART, EARLY_MS)) })
  return aScenario(seed, {
    trial: 'purged-canvases',
    calmAt: 2 * SPAN_MS,
    types: [aType('lambda', { type: PART, shards: dice.between(1, 2) }), aType('lambda', { type: SUM })],
    steps: [
      ...dice.many(3, 5, index => ({
        do: 'publish-canvas' as const,
        at: dice.between(100, 10_000),
        canvas: `c${index + 1}`,
        composition: dice.odds(0.8) ? chord() : chain(),
      })),
      ...purges(dice),
    ].sort((a, b) => a.at - b.at),
  })
}

function purges(dice: Dice): Step[] {
  return dice.many(2, 4, () => ({
    do: 'purge' as const,
    at: dice.between(EARLY_MS, SPAN_MS),
    type: dice.pick([PART, PART, SUM]),
    statuses: dice.pick([['succeeded'], ['succeeded'], ['succeeded', 'failed'], ['failed']] as const),
  }))
}
