import { type LimitChange, type LimitLook, TEND_INTERVAL_S } from '../../core/control/held-permits.ts'
import type { System } from '../system.ts'

/**
 * Sends what the waker needs to know of limits that tasks wait for: one message for all permits of a limit that came back
 * in this batch, and the first look of the series after a note. A message that cannot be sent does not make the stream
 * come again: the series sees to the limit within 15 s, and the sweeper begins a series that is missing.
 */
export async function planLimits(
  { messages, log }: Pick<System, 'messages' | 'log'>,
  changes: readonly LimitChange[],
): Promise<void> {
  if (changes.length === 0) return
  const looks = looksOf(changes)
  const failures = await messages.lookAtLimits(looks)
  for (const { index, ...why } of failures) {
    log.warn('a limit is looked at later', { limit: looks[index]?.limit, ...why })
  }
}

function looksOf(changes: readonly LimitChange[]): LimitLook[] {
  const freed = Map.groupBy(
    changes.filter(({ kind }) => kind === 'freed'),
    ({ limit }) => limit,
  )
  const noted = changes.filter(change => change.kind === 'noted')
  return [
    ...[...freed].map(([limit, permits]) => ({ limit, given: permits.length, delaySeconds: 0 })),
    ...noted.map(({ limit, since }) => ({ limit, quiet: 0, since, delaySeconds: TEND_INTERVAL_S })),
  ]
}
