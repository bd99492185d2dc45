import { CALM, type Scenario, type Step, type TypeSetup, type Weather } from '../scenario.ts'
import type { Dice } from './dice.ts'

/** The settings that decide when and in which order a type's tasks run. */
type Control = Pick<TypeSetup, 'limits' | 'ordering'>

const OWNERS = ['u1', 'u2', 'u3'] as const
const TENANTS = ['t1', 't2', 't3'] as const
/**
 * The share of slow calls in scenarios with pauses, so that some claims are under way at the moment of a pause.
 */
const SLOW = 0.12
const FAIR = 0.5
/** The first nonce of the publishes around a pause. */
const BURST_NONCE = 100_000

/**
 * Adds limits, orders and pauses of types to a scenario. They are drawn last, so that scenarios without them
 * stay as they are.
 */
export function withControl(dice: Dice, scenario: Scenario): Scenario {
  const controlled = scenario.types.map(setup => (dice.odds(0.7) ? { ...setup, ...control(dice) } : setup))
  const paused = dice.odds(0.6) ? pauses(dice, scenario) : []
  const puts = dice.odds(0.4) ? dice.many(1, 2, () => put(dice, scenario)) : []
  const isFair = dice.odds(FAIR)
  // The publishes around a pause replace other steps. Otherwise these scenarios would take twice as long.
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

/**
 * The weather of such a scenario. Only calm weather shows whether a permit was released at once or repaired
 * later, so some of these scenarios are calm.
 */
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

/** Pauses while tasks are published. Some types are resumed here, the other types at the end of the scenario. */
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

/**
 * Publishes shortly before and after a pause. A worker that claims one of them before the pause has cached the
 * type.
 */
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
