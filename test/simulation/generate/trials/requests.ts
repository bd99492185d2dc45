import { CALM } from '../../scenario.ts'
import { aScenario, aType, type Trial } from './trial.ts'

/** A caller sends requests at the very bounds of the API, and some just beyond them. */
export const requests: Trial = (dice, seed) =>
  aScenario(seed, {
    trial: 'requests',
    weather: { ...CALM },
    types: [aType('lambda')],
    steps: [{ at: 100, do: 'check-requests', bounds: dice.between(90, 130) }],
  })
