import { CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 40_000

/** Clocks jump while types are paused and resumed, and their tasks are published one after the other. */
export const clockSteps: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'workers', 'http'] as const))
  return aScenario(seed, {
    trial: 'clock-steps',
    weather: { ...CALM, stepMs: dice.between(1_000, 5_000) },
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 2, 4),
    steps: [...stream(dice, type), ...pauses(dice, type)].sort((a, b) => a.at - b.at),
  })
}

function stream(dice: Dice, { type }: TypeSetup): Step[] {
  return dice.many(60, 90, nonce => ({
    do: 'publish',
    at: dice.between(1_000, SPAN_MS),
    nonce,
    request: { type, key: `k${nonce}` },
    acts: [],
    padding: 0,
  }))
}

function pauses(dice: Dice, { type }: TypeSetup): Step[] {
  const starts = [dice.between(4_000, 12_000), dice.between(16_000, 24_000), dice.between(28_000, 34_000)]
  return starts.flatMap(at => [
    { do: 'pause-type' as const, at, type },
    { do: 'resume-type' as const, at: at + dice.between(4_000, 8_000), type },
  ])
}
