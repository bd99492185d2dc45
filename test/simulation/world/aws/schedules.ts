import { MINUTE_LEAD_MS } from '../../../../shared/core/bounds.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { World } from '../world.ts'

/** EventBridge Scheduler: fires up to a minute late, and in bad weather also twice or never. */
export type Schedules = {
  /** Creates the schedule of a minute. There is one, however often it is asked for. */
  ensureMinute(minute: number): void
  /** Fires about once a minute from now on. */
  everyMinute(fire: () => void): void
}

const MINUTE_MS = 60_000
const LATE_MS_MAX = 60_000
const USUAL_LATE_MS_MAX = 2_000

export function createSchedules(world: World, fireMinute: (minute: number) => void): Schedules {
  const { timeline, history } = world
  const chance = createSeededChance(world.seedOf('schedules'))
  const minutes = new Set<number>()

  /** Fires at about a time. In bad weather a firing is late, doubled, or missing. */
  const fireAbout = (time: number, fire: () => void) => {
    const isOff = chance.fraction() < world.weather().scheduleOff
    const kind = chance.fraction()
    if (isOff && kind < 1 / 3) return history.note(time, 'scheduler', () => 'does not fire')
    const late = () => chance.fraction() * (isOff ? LATE_MS_MAX : USUAL_LATE_MS_MAX)
    timeline.at(time + late(), fire)
    if (isOff && kind < 2 / 3) timeline.at(time + late(), fire)
  }
  /** Delays a firing that falls due during an outage until the service is back. */
  const onceBack = (fire: () => void) => () => {
    if (world.isOut('scheduler'))
      timeline.at(world.outageEndsAt('scheduler') + chance.fraction() * USUAL_LATE_MS_MAX, fire)
    else fire()
  }

  return {
    ensureMinute: minute => {
      if (minutes.has(minute)) return
      minutes.add(minute)
      const fire = onceBack(() => {
        minutes.delete(minute)
        if (!world.loses('minute')) fireMinute(minute)
      })
      fireAbout(minute * MINUTE_MS - MINUTE_LEAD_MS, fire)
    },
    everyMinute: fire => {
      const tick = (time: number) => {
        // A missed round of the sweeper is not repeated: the next minute brings another.
        fireAbout(time, () => !world.isOut('scheduler') && !world.loses('round') && fire())
        timeline.at(time + MINUTE_MS, () => tick(time + MINUTE_MS))
      }
      tick(timeline.now() + chance.fraction() * MINUTE_MS)
    },
  }
}
