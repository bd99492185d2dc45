import type { LimitLook } from '../../core/limits/line.ts'
import { groupBy } from '../../core/values/values.ts'
import type { Wake } from '../../ports/messages.ts'
import { driveCanvas } from '../canvas/drive-canvas.ts'
import { workOnJob } from '../jobs/jobs.ts'
import type { System } from '../kernel/system.ts'
import { serveLimitLook } from '../limits/serve-limit-looks.ts'
import { wakeMinute, wakeMinuteShard, wakeTasks } from './wake.ts'

/** A wake message as its queue delivered it. */
type Received = { readonly messageId: string; readonly wake: Wake }

/**
 * Serves wake messages: looks at tasks, dispatches the tasks of far minutes, continues canvases and jobs, and
 * admits tasks that wait for a limit. Work that is not done at `stopAt` continues in a new message. Returns the ids
 * of the messages that SQS must deliver again.
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

/** Serves the looks that report released permits. One call for each limit admits tasks for all of its permits. */
function serveLimitLooks(system: System, received: readonly Received[]): Promise<string[]>[] {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'limit' && wake.look.released !== undefined ? [{ messageId, look: wake.look }] : [],
  )
  return [...groupBy(looks, ({ look }) => look.line.limit)].map(async ([limit, ofLimit]) => {
    try {
      await serveLimitLook(system, ofLimit.map(({ look }) => look).reduce(asOneLook))
      return []
    } catch (error) {
      system.log.warn('tasks that wait for a limit were not admitted; SQS delivers the message again', {
        error,
        limit,
      })
      return ofLimit.map(({ messageId }) => messageId)
    }
  })
}

/** One look for the permits of both. It names the shards only if both looks do. */
function asOneLook(a: LimitLook, b: LimitLook): LimitLook {
  const { shards: _shards, ...look } = { ...a, released: (a.released ?? 1) + (b.released ?? 1) }
  return a.shards && b.shards ? { ...look, shards: [...a.shards, ...b.shards] } : look
}

async function serveLooks(system: System, received: readonly Received[]): Promise<string[]> {
  const looks = received.flatMap(({ messageId, wake }) =>
    wake.kind === 'look' ? [{ messageId, look: wake.look }] : [],
  )
  if (looks.length === 0) return []
  const sent = looks.map(({ messageId, look }) => ({ ...look, messageId }))
  const failures = await wakeTasks(system, sent)
  const failedIds = new Set(failures.filter(({ transient }) => transient).map(({ id }) => id))
  for (const failure of failures) {
    const outcome = failure.transient ? 'SQS delivers its message again' : 'its message is deleted'
    system.log.warn(`a look was not served; ${outcome}`, failure)
  }
  return looks.filter(({ look }) => failedIds.has(look.id)).map(({ messageId }) => messageId)
}

async function serveOther(system: System, { messageId, wake }: Received, stopAt: number): Promise<string[]> {
  if (wake.kind === 'look') return []
  try {
    if (wake.kind === 'minute') await wakeMinute(system, wake.minute)
    else if (wake.kind === 'minute-shard') await wakeMinuteShard(system, wake.look, stopAt)
    else if (wake.kind === 'job') await workOnJob(system, wake.look, stopAt)
    else if (wake.kind === 'canvas') await driveCanvas(system, wake.look, stopAt)
    // `serveLimitLooks` serves the looks after a release.
    else if (wake.look.released === undefined) await serveLimitLook(system, wake.look)
    return []
  } catch (error) {
    system.log.warn(`a wake message of kind ${wake.kind} was not served; SQS delivers it again`, {
      error,
      messageId,
    })
    return [messageId]
  }
}
