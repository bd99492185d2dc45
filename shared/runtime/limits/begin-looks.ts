import type { LimitChange, LimitLook, Line } from '../../core/limits/line.ts'
import { withIndexEntries } from '../../core/place/place.ts'
import type { Task } from '../../core/task/task.ts'
import { groupBy } from '../../core/values/values.ts'
import { isolateEach, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { cachedNote, forgetNote, noteLine } from './line.ts'
import { endWaitOf } from './serve-limit-looks.ts'

/** How the planner begins looks at lines, and how the sweeper begins them again. */

/**
 * The planner's part: sends the waker the first look at a line that was noted, and one look for all permits of a limit that were released
 * in this batch, if tasks wait for them. So it does for slots that claims gave back.
 *
 * A note that cannot be read and a message that cannot be sent do not make the stream repeat its batch. The series looks at the limit
 * within 15 s, and the sweeper begins a series that is missing.
 */
export async function planLimits(
  system: Pick<System, 'messages' | 'limits' | 'clock' | 'log'>,
  changes: readonly LimitChange[],
): Promise<void> {
  const now = system.clock.now()
  const noted = changes.flatMap(change => {
    if (change.kind !== 'noted') return []
    forgetNote(system, change.line)
    const delaySeconds = Math.min(900, Math.max(0, Math.ceil((change.lookAt - now) / 1_000)))
    return [{ line: change.line, at: change.lookAt, delaySeconds }]
  })
  const looks = [...noted, ...(await looksAfterReleases(system, changes))]
  for (const { index, ...why } of await system.messages.lookAtLimits(looks)) {
    system.log.warn('a look at a limit was not sent; a later look serves the limit', {
      ...looks[index]?.line,
      ...why,
    })
  }
}

async function looksAfterReleases(
  system: Pick<System, 'limits' | 'clock' | 'log'>,
  changes: readonly LimitChange[],
): Promise<LimitLook[]> {
  const freed = changes.filter(change => change.kind === 'freed')
  const released = [...groupBy(freed, ({ limit }) => limit)].map(([limit, permits]) => ({
    ...{ line: { kind: 'permit', limit } as const, released: permits.length },
    shards: permits.map(({ shard }) => shard),
  }))
  const returned = changes.flatMap(change =>
    change.kind === 'returned' ? [{ line: change.line, released: change.slots }] : [],
  )
  const looks = [...released, ...returned].map(async look => {
    try {
      const { note } = (await cachedNote(system, look.line)).value
      return note ? [{ ...look, delaySeconds: 0 }] : []
    } catch (error) {
      system.log.warn('no look follows what was given back, since the note of the line was not read', {
        ...{ ...look.line, error },
      })
      return []
    }
  })
  return (await Promise.all(looks)).flat()
}

/** The sweeper's part: see `REPAIRS`. It begins this many series of looks in a round. */
const SWEPT_LINES_MAX = 1_000
const SWEPT_AT_ONCE_MAX = 25
/** A series is late by this much, beside the 15 s by which the index is inexact. */
const OVERDUE_MS = 20_000

/** Begins the series of looks again that have stopped because a message was lost. Returns how many lines were found. */
export async function sweepLines(system: System): Promise<number> {
  const lines = await system.limits.overdueLines(system.clock.now() - OVERDUE_MS, SWEPT_LINES_MAX)
  await serveAgain(system, lines)
  return lines.length
}

/**
 * Notes the lines of tasks that the sweeper has read: a process that died between note and wait may have left a line without looks. A task
 * that waits in a place of an earlier version asks the limits anew.
 */
export async function sweepLimits(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const waiting = tasks.filter(task => task.wait && task.updatedAt + OVERDUE_MS <= now)
  const isElsewhere = (task: Task) => withIndexEntries(task, now).place?.name !== task.place?.name
  await isolateEach(system, waiting.filter(isElsewhere), SWEPT_AT_ONCE_MAX, task => endWaitOf(system, task))
  const lines = waiting.flatMap(({ wait }) => wait ?? [])
  const distinct = new Map(lines.map(line => [`${line.kind} ${line.limit}`, line]))
  await serveAgain(system, [...distinct.values()])
}

async function serveAgain(system: System, lines: readonly Line[]): Promise<void> {
  await sideBySide(lines, SWEPT_AT_ONCE_MAX, line =>
    noteLine(system, line, { isRepair: true }).catch(error => {
      system.log.error('a line was not swept', { ...line, error })
    }),
  )
}
