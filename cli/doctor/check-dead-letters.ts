import type { ApiDeadLetter } from '../../shared/api/diagnosis/dead-letters.ts'
import type { FollowUp } from '../system/follow-up.ts'
import type { Context } from '../system/with-system.ts'
import { relativeTime } from '../terminal/times.ts'
import type { Finding } from './finding.ts'

const READ_MAX = 100

/** Whether messages were given up. Those that can be sent again wait for an operator. The others only tell what has happened. */
export async function checkDeadLetters({ client, io, followUp }: Context): Promise<Finding[]> {
  const { items, nextCursor } = await client.deadLettersPage({ limit: READ_MAX })
  const check = 'dead letters'
  const waiting = items.filter(({ replayable }) => replayable)
  const others = items.filter(({ replayable }) => !replayable)
  const number = (of: readonly ApiDeadLetter[]) =>
    nextCursor === undefined ? `${of.length}` : `${of.length} or more`
  const found: Finding[] = []
  if (waiting.length > 0)
    found.push({
      level: 'wrong',
      check,
      text: `messages given up and not sent again: ${number(waiting)}, the last ${lastOf(waiting, io.now())}`,
      next: `see the causes: ${followUp('dead-letters')}; then send them again: ${replaysOf(waiting, followUp)}`,
    })
  if (others.length > 0)
    found.push({
      level: 'notice',
      check,
      text: `messages given up that cannot be sent again: ${number(others)}, the last ${lastOf(others, io.now())}`,
      next: `see the causes: ${followUp('dead-letters')}`,
    })
  return found.length > 0 ? found : [{ level: 'fine', check, text: 'no message was given up' }]
}

/** A command for each queue. */
function replaysOf(letters: readonly ApiDeadLetter[], followUp: FollowUp): string {
  const queues = new Set(letters.map(({ queue }) => queue))
  return [...queues].map(queue => followUp('dead-letters', 'replay', '--queue', queue)).join('; ')
}

function lastOf(letters: readonly ApiDeadLetter[], now: number): string {
  return relativeTime(
    letters
      .map(({ arrivedAt }) => arrivedAt)
      .sort()
      .at(-1),
    now,
  )
}
