import { CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 25_000

/** Several publishes in quick succession debounce one key, or are throttled under one key. */
export const coalesced: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const))
  const nonces = { next: 0 }
  return aScenario(seed, {
    trial: 'coalesced',
    weather: {
      ...CALM,
      answerLost: dice.pick([0, 0, 0.05]),
      slow: dice.pick([0, 0, 0.05]),
      messageLost: dice.pick([0, 0.05]),
      skewMs: dice.pick([0, 0, 500]),
    },
    calmAt: SPAN_MS + 5_000,
    types: [type],
    workers: workersOf(type, 2, 2),
    steps: [...debounces(dice, type, nonces), ...throttles(dice, type, nonces)].sort((a, b) => a.at - b.at),
  })
}

type Nonces = { next: number }

/** Publishes of one key that follow each other more quickly than the debounce waits. */
function debounces(dice: Dice, type: TypeSetup, nonces: Nonces): Step[] {
  const ms = dice.between(600, 2_500)
  const maxWaitMs = ms + dice.between(0, 2 * ms)
  let at = dice.between(100, 2_000)
  return dice.many(8, 20, () => {
    at += dice.between(50, dice.odds(0.8) ? ms : 3 * ms)
    return publish(dice, type, nonces, at, { key: 'd1', debounce: { ms, maxWaitMs } })
  })
}

function throttles(dice: Dice, type: TypeSetup, nonces: Nonces): Step[] {
  const throttle = { perMs: dice.between(2_000, 8_000) }
  return dice.many(6, 12, () =>
    publish(dice, type, nonces, dice.between(100, SPAN_MS), { key: 't1', throttle }),
  )
}

type Coalescing = Pick<Extract<Step, { readonly do: 'publish' }>['request'], 'key' | 'debounce' | 'throttle'>

function publish(dice: Dice, { type }: TypeSetup, nonces: Nonces, at: number, coalescing: Coalescing): Step {
  nonces.next += 1
  return {
    do: 'publish',
    at,
    nonce: nonces.next,
    request: {
      type,
      ...coalescing,
      options: { leaseMs: 4_000, heartbeatMs: 1_000, retry: { maxRetries: 1, delayMs: 200 } },
    },
    acts: dice.many(0, 2, () => ({
      ms: dice.odds(0.7) ? dice.between(1, 800) : dice.between(800, 4_000),
      end: dice.pick(['succeed', 'succeed', 'fail'] as const),
    })),
    padding: dice.odds(0.3) ? 300 : 0,
  }
}
