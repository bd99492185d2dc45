import { NOTE_LIFE_MS } from '../../core/control/held-permits.ts'
import type { Task } from '../../core/task.ts'
import type { System } from '../system.ts'
import { tendForgotten } from './tend-limit.ts'

/** Limits of one type that a round asks about. */
const MOST_LIMITS = 20

/** Sees to the limits that some of `tasks` have waited long for. One that cannot be seen to harms no other. */
export async function sweepLimits(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const old = tasks.filter(
    ({ wait, updatedAt }) => wait?.kind === 'permit' && updatedAt + NOTE_LIFE_MS <= now,
  )
  if (old.length === 0) return
  const byLimit = [...Map.groupBy(old, ({ wait }) => wait?.limit)]
  const start = Math.floor(byLimit.length * system.chance.fraction())
  const round = [...byLimit.slice(start), ...byLimit.slice(0, start)].slice(0, MOST_LIMITS)
  for (const [limit, waiting] of round) {
    await tendForgotten(system, waiting).catch(error => {
      system.log.error('a limit was not seen to', { limit, error })
    })
  }
}
