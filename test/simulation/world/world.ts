import { hash32 } from '../../../shared/core/values/text.ts'
import { createTimeline, type Timeline } from '../../../shared/testing/world/timeline.ts'
import { CALM, type Lost, type Scenario, type Service, type Weather } from '../scenario.ts'
import type { History } from './history.ts'

/**
 * What all parts of a simulated run share, and the entry of this room. `timeline.ts` holds virtual time,
 * `process.ts` the processes that run in it, and `history.ts` the events that invariants watch. `aws` simulates
 * the services. `driven-world.ts` is for tests that call the world themselves.
 */
export type World = {
  readonly scenario: Scenario
  readonly timeline: Timeline
  readonly history: History
  /** The weather at this time: calm from the scenario's `calmAt` on. */
  weather(): Weather
  /** Whether a service has an outage at this time. */
  isOut(service: Service): boolean
  /** When the outage of a service ends; now when there is none. */
  outageEndsAt(service: Service): number
  /**
   * Whether the thing of this kind that happens now is the lost one. It is called exactly once for each thing.
   */
  loses(what: Lost['what']): boolean
  /** Whether no effect of bad weather can still be under way. */
  isLongCalm(): boolean
  /** A seed for one part of the world. Removing a part leaves the chance of the other parts as it is. */
  seedOf(part: string): number
}

/** The start of simulated time: a midnight UTC after the time from which fences are counted. */
export const START = Date.UTC(2026, 0, 2)

/** How long freezes and slow calls last that began in bad weather. */
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
