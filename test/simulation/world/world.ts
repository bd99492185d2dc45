import { hash32 } from '../../../shared/core/hash.ts'
import { CALM, type Lost, type Scenario, type Service, type Weather } from '../scenario.ts'
import type { History } from './history.ts'
import { createTimeline, type Timeline } from './timeline.ts'

/** What all parts of a simulated run share. */
export type World = {
  readonly scenario: Scenario
  readonly timeline: Timeline
  readonly history: History
  /** The weather right now; calm from the scenario's `calmAt` on. */
  weather(): Weather
  /** Whether a service answers no call right now. */
  isOut(service: Service): boolean
  /** When the outage of a service that is out will be over; now, if it is not. */
  outageEndsAt(service: Service): number
  /** Whether the thing of this kind that is under way now is the one that is lost. Each thing asks once. */
  loses(what: Lost['what']): boolean
  /** Whether nothing that went wrong by chance can still be on its way. */
  isLongCalm(): boolean
  /** A seed of its own for each part, so that taking one part out leaves the luck of the others as it is. */
  seedOf(part: string): number
}

/** Where simulated time begins, a midnight UTC after the time from which fences are counted. */
export const START = Date.UTC(2026, 0, 2)

/** Freezes and slow calls that began in bad weather go on for so long. */
const AFTERMATH_MS = 90_000

export function createWorld(scenario: Scenario, history: History, startsAt = START): World {
  const timeline = createTimeline(startsAt)
  const counts: Record<Lost['what'], number> = { message: 0, batch: 0, minute: 0, round: 0 }
  const backAt = (service: Service) => {
    const now = timeline.now()
    const ends = (scenario.outages ?? [])
      .filter(outage => outage.service === service && now >= START + outage.from)
      .map(({ from, ms }) => START + Math.min(from + ms, scenario.calmAt))
    return Math.max(now, ...ends)
  }
  return {
    scenario,
    timeline,
    history,
    isOut: service => scenario.outages !== undefined && backAt(service) > timeline.now(),
    outageEndsAt: backAt,
    loses: what => {
      counts[what] += 1
      return scenario.lost?.what === what && scenario.lost.nth === counts[what]
    },
    weather: () => (timeline.now() < START + scenario.calmAt ? scenario.weather : CALM),
    isLongCalm: () => scenario.weather === CALM || timeline.now() > START + scenario.calmAt + AFTERMATH_MS,
    seedOf: part => hash32(`${scenario.seed} ${part}`),
  }
}
