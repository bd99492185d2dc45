import type { Wake } from '../ports.ts'
import { driveCanvas } from './canvas/drive-canvas.ts'
import { tendLimit } from './control/tend-limit.ts'
import { workOnJob } from './jobs/work-on-job.ts'
import type { System } from './system.ts'
import { wakeMinute, wakeMinuteShard, wakeTasks } from './wake-tasks.ts'

/** A wake message as its queue delivered it. */
type Received = { readonly messageId: string; readonly wake: Wake }

/**
 * Looks at tasks whose time has come, side by side, dispatches far minutes, sees to canvases and works on jobs; what of these is not
 * done at `stopAt` goes on in a message of its own. Answers the ids of the messages that must come again.
 */
export async function serveWakes(
  system: System,
  received: readonly Received[],
  stopAt: number,
): Promise<string[]> {
  const failed = await Promise.all([
    lookAll(system, received),
    ...distinctLimits(received).map(one => wakeFar(system, one, stopAt)),
  ])
  return failed.flat()
}

/** Of several permits of one limit that were given back one look finds all. */
function distinctLimits(received: readonly Received[]): Received[] {
  const seen = new Set<string>()
  return received.filter(({ wake }) => {
    if (wake.kind !== 'limit' || wake.look.quiet !== undefined) return true
    const isFirst = !seen.has(wake.look.limit)
    seen.add(wake.look.limit)
    return isFirst
  })
}

async function lookAll(system: System, received: readonly Received[]): Promise<string[]> {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'look' ? [{ messageId, look: wake.look }] : [],
  )
  if (looks.length === 0) return []
  const failures = await wakeTasks(
    system,
    looks.map(({ look }) => look),
  )
  const failedIds = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  for (const failure of failures) system.log.warn('look not done yet', failure)
  return looks.filter(({ look }) => failedIds.has(look.id)).map(({ messageId }) => messageId)
}

async function wakeFar(system: System, { messageId, wake }: Received, stopAt: number): Promise<string[]> {
  if (wake.kind === 'look') return []
  try {
    if (wake.kind === 'minute') await wakeMinute(system, wake.minute)
    else if (wake.kind === 'minute-shard') await wakeMinuteShard(system, wake.look, stopAt)
    else if (wake.kind === 'job') await workOnJob(system, wake.look, stopAt)
    else if (wake.kind === 'limit') await tendLimit(system, wake.look)
    else await driveCanvas(system, wake.look, stopAt)
    return []
  } catch (error) {
    system.log.warn('a far minute, a canvas, a job or a limit was not seen to yet', { error, messageId })
    return [messageId]
  }
}
