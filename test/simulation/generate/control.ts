import { CALM, type Scenario, type Step, type TypeSetup, type Weather } from '../scenario.ts'
import type { Dice } from './dice.ts'

/** What an operator may set of a type to say when and in which order its tasks run. */
type Control = Pick<TypeSetup, 'limits' | 'ordering'>

const OWNERS = ['u1', 'u2', 'u3'] as const
const TENANTS = ['t1', 't2', 't3'] as const
/** Claims that are under way while their type is paused are worth seeing: calls are slow where types are paused. */
const SLOW = 0.12
const FAIR = 0.5
/** Tells the publishes around a pause from all others. */
const BURST_NONCE = 100_000

/** The scenario with limits, orders and pauses of its types. It is drawn last: scenarios without are what they were. */
export function withControl(dice: Dice, scenario: Scenario): Scenario {
  const controlled = scenario.types.map(setup => (dice.odds(0.7) ? { ...setup, ...control(dice) } : setup))
  const paused = dice.odds(0.6) ? pauses(dice, scenario) : []
  const puts = dice.odds(0.4) ? dice.many(1, 2, () => put(dice, scenario)) : []
  const isFair = dice.odds(FAIR)
  // Those around a pause take the place of others, or these scenarios would cost twice as much.
  const others = paused.length > 0 ? scenario.steps.filter(() => dice.odds(0.4)) : scenario.steps
  const steps = [...others, ...paused].map(step => {
    if (step.do === 'deploy') return { ...step, ...(dice.odds(0.7) && control(dice)) }
    return step.do === 'publish' ? named(dice, step, isFair) : step
  })
  return {
    ...scenario,
    weather: weatherOf(dice, scenario.weather, paused.length > 0),
    types: controlled,
    steps: [...steps, ...puts].sort((a, b) => a.at - b.at),
  }
}

/** What is given back at once, and repaired otherwise, shows only while nothing goes wrong by chance. */
function weatherOf(dice: Dice, weather: Weather, isPaused: boolean): Weather {
  if (weather === CALM) return weather
  if (dice.odds(0.2)) return { ...CALM }
  return isPaused && dice.odds(0.8) ? { ...weather, slow: Math.max(weather.slow, SLOW) } : weather
}

function control(dice: Dice): Control {
  const concurrency = dice.odds(0.6) ? { max: dice.between(1, 3), ...key(dice) } : undefined
  const rate = dice.odds(0.4)
    ? { limit: dice.between(1, 4), perMs: dice.between(1_000, 10_000), ...key(dice) }
    : undefined
  return {
    ...((concurrency || rate) && { limits: { ...(concurrency && { concurrency }), ...(rate && { rate }) } }),
    ...(dice.odds(0.4) && { ordering: 'priority' as const }),
  }
}

function key(dice: Dice): { readonly key?: string } {
  return dice.odds(0.4) ? { key: dice.pick(['userId', 'fairnessKey'] as const) } : {}
}

function named(dice: Dice, step: Extract<Step, { readonly do: 'publish' }>, isFair: boolean): Step {
  const request = {
    ...step.request,
    ...(dice.odds(0.6) && { userId: dice.pick(OWNERS) }),
    ...(isFair && dice.odds(0.5) && { fairnessKey: dice.pick(TENANTS) }),
  }
  return { ...step, request }
}

/** While tasks are published. What is not resumed here is at the end. */
function pauses(dice: Dice, { types, flows, calmAt }: Scenario): Step[] {
  return dice
    .many(1, 2, nth => {
      const type = dice.odds(0.9) ? dice.pick(types).type : dice.pick([...types, ...flows]).type
      const at = dice.between(2_000, calmAt)
      const resume = { at: at + dice.between(500, 12_000), do: 'resume-type' as const, type }
      return [
        { at, do: 'pause-type' as const, type },
        ...(dice.odds(0.5) ? [resume] : []),
        ...(types.some(one => one.type === type) ? burst(dice, type, at, nth) : []),
      ]
    })
    .flat()
}

/** Whoever claims some of them before the pause remembers the type for a while. */
function burst(dice: Dice, type: string, pausedAt: number, nth: number): Step[] {
  return dice.many(4, 8, index => ({
    do: 'publish' as const,
    at: pausedAt + dice.between(-1_200, 1_500),
    nonce: BURST_NONCE + 100 * nth + index,
    request: { type, key: `p${nth}-${index}`, ...(dice.odds(0.5) && { priority: dice.between(-5, 5) }) },
    acts: [],
    padding: 0,
  }))
}

function put(dice: Dice, { types, calmAt }: Scenario): Step {
  const { type, servedBy, defaults, shards } = dice.pick(types)
  const kind = servedBy === 'http' ? 'http' : 'handler'
  return { at: dice.between(100, calmAt), do: 'put-type', type, kind, defaults, shards, ...control(dice) }
}
