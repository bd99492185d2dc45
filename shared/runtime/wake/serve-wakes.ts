import type { LimitLook } from '../../core/limits/held-permits.ts'
import type { Wake } from '../../ports/messages.ts'
import { driveCanvas } from '../canvas/drive-canvas.ts'
import { workOnJob } from '../jobs/jobs.ts'
import type { System } from '../kernel/system.ts'
import { serveLimitLook } from '../limits/serve-limit-looks.ts'
import { wakeMinute, wakeMinuteShard, wakeTasks } from './wake.ts'

/** A wake message as its queue delivered it. */
type Received = { readonly messageId: string; readonly wake: Wake }

/**
 * Serves wake messages: looks at tasks whose time has come, dispatches far minutes, and continues canvases,
 * limits and jobs. What is not done at `stopAt` continues in a message of its own. Returns the ids of the
 * messages that must come again.
 */
export async function serveWakes(
  system: System,
  received: readonly Received[],
  stopAt: number,
): Promise<string[]> {
  const failed = await Promise.all([
    serveLooks(system, received),
    ...serveLimitLooks(system, received),
    ...received.map(one => serveOther(system, one, stopAt)),
  ])
  return failed.flat()
}

/** Permits of one limit that were released admit the next tasks together. */
function serveLimitLooks(system: System, received: readonly Received[]): Promise<string[]>[] {
  const once = received.filter(({ wake }) => wake.kind === 'limit' && wake.look.emptyLooksInRow === undefined)
  const byLimit = Map.groupBy(once, ({ wake }) => (wake.kind === 'limit' ? wake.look.limit : ''))
  return [...byLimit].map(async ([limit, looks]) => {
    try {
      const released = looks.reduce(addReleasedPermits, 0)
      await serveLimitLook(system, { limit, released, delaySeconds: 0 })
      return []
    } catch (error) {
      system.log.warn('a limit has admitted no task yet; its message comes again', { error, limit })
      return looks.map(({ messageId }) => messageId)
    }
  })
}

function addReleasedPermits(sum: number, { wake }: Received): number {
  return sum + (wake.kind === 'limit' ? (wake.look.released ?? 1) : 0)
}

/**
 * Serves a look that repeats for as long as tasks wait for the limit. Looks that come once are served together,
 * see `serveLimitLooks`.
 */
async function serveRepeatedLimitLook(system: System, look: LimitLook): Promise<void> {
  if (look.emptyLooksInRow !== undefined) await serveLimitLook(system, look)
}

async function serveLooks(system: System, received: readonly Received[]): Promise<string[]> {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'look' ? [{ messageId, look: wake.look }] : [],
  )
  if (looks.length === 0) return []
  const failures = await wakeTasks(
    system,
    looks.map(({ messageId, look }) => ({ ...look, messageId })),
  )
  const failedIds = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  for (const failure of failures)
    system.log.warn('a look was not served yet; its message comes again', failure)
  return looks.filter(({ look }) => failedIds.has(look.id)).map(({ messageId }) => messageId)
}

async function serveOther(system: System, { messageId, wake }: Received, stopAt: number): Promise<string[]> {
  if (wake.kind === 'look') return []
  try {
    if (wake.kind === 'minute') await wakeMinute(system, wake.minute)
    else if (wake.kind === 'minute-shard') await wakeMinuteShard(system, wake.look, stopAt)
    else if (wake.kind === 'job') await workOnJob(system, wake.look, stopAt)
    else if (wake.kind === 'limit') await serveRepeatedLimitLook(system, wake.look)
    else await driveCanvas(system, wake.look, stopAt)
    return []
  } catch (error) {
    system.log.warn('a far minute, a canvas, a job or a limit was not served yet; its message comes again', {
      error,
      messageId,
    })
    return [messageId]
  }
}
