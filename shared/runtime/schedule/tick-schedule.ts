import { EVERY_TYPE } from '../../core/bounds.ts'
import { sweepRecord } from '../../core/record-names.ts'
import { dueTicks, isTicking, noteTicked, tickKey, touchSchedule } from '../../core/schedule.ts'
import { isSchedule } from '../../core/task/head.ts'
import type { PresentSchedule, Schedule } from '../../core/task/head-fields.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { ticksOfTiming } from '../../cron/cron-ticks.ts'
import type { IndexEntry, IndexRange } from '../../ports/stores.ts'
import { faultOf, readHead, sideBySide } from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import { logFields } from '../kernel/log-run-ends.ts'
import type { System } from '../kernel/system.ts'
import { type PublishOutcome, publishMany } from '../publish/publish.ts'
import { problemText } from '../publish/resolve-flow.ts'
import { requestOfBody } from '../publish/resolve-publication.ts'
import { NOTHING_SWEPT, readFromCursor, renewAgeingBodies, type SweepReport, sumOf } from '../repair.ts'
import { openScheduleRanges } from './read-schedules.ts'
import { readScheduledTask } from './schedule.ts'

/**
 * Publishes the due ticks of a schedule, then writes when it is due again. Returns whether anything was due.
 *
 * The key of a tick's task follows from the tick, and a key that exists is never published again. So a process that
 * dies between the two writes, or ticks at the same time as another process, does no harm. The head is read after the
 * clock, so a pause or removal that was acknowledged before a tick's time is always seen. Without `born`, the present
 * birth ticks.
 *
 * @throws BatonError when the store does not answer.
 */
export async function tickSchedule(
  system: System,
  { id, born }: { readonly id: string; readonly born?: string },
): Promise<{ readonly ticked: boolean; readonly task: Schedule | undefined }> {
  const now = system.clock.now()
  const head = await readHead(system, id, isSchedule)
  const isAnotherBirth = born !== undefined && head?.born !== born
  if (!head || isAnotherBirth || !isTicking(head) || head.dueAt > now) return { ticked: false, task: head }
  const { schedule, dueAt, createdAt } = head
  const due = dueTicks(ticksOfTiming(schedule.timing, createdAt), { ...schedule, from: dueAt }, now)
  const outcome = await publishTicks(system, head, due.publish)
  const { head: task } = await transactBirth(system, head, current =>
    current.revision === head.revision
      ? noteTicked(current, { next: due.next, ...outcome }, system.clock.now())
      : OUTDATED,
  )
  return { ticked: true, task }
}

/** Another process has changed the schedule meanwhile. */
const OUTDATED = { ok: false, reason: 'outdated' } as const

/** Publishes the tasks of these ticks. A refused task stays unpublished: the schedule shows the error and continues. */
async function publishTicks(
  system: System,
  head: PresentSchedule,
  ticks: readonly number[],
): Promise<{ readonly ranAt: number | undefined; readonly error: TaskError | undefined }> {
  if (ticks.length === 0) return { ranAt: undefined, error: head.error }
  const body = requestOfBody(await readScheduledTask(system, head))
  // A task that is published too late to be useful does not run: its deadline counts from the tick.
  const requests = ticks.map(tick => ({
    ...body,
    key: tickKey(head.key, tick),
    once: true as const,
    dueAt: tick,
    parentId: head.id,
  }))
  const outcomes = await publishMany(system, requests)
  const errors = outcomes.flatMap(outcome => errorOf(outcome) ?? [])
  for (const error of errors) {
    system.log.error('the task of a tick was refused and is not published', { ...logFields(head), error })
  }
  return { ranAt: ticks.findLast((_tick, index) => outcomes[index]?.ok), error: errors.at(-1) }
}

/**
 * Why one tick's task is refused; undefined when it was published.
 *
 * @throws an error that does not concern this tick alone.
 */
function errorOf(outcome: PublishOutcome): TaskError | undefined {
  if (outcome.ok) return undefined
  switch (outcome.reason) {
    case 'unknown-type':
      return {
        name: 'UnknownType',
        message: outcome.unknown
          .map(one => `${one.path}: '${one.type}' is not registered any more`)
          .join('; '),
      }
    case 'invalid':
      return { name: 'Invalid', message: problemText(outcome.problems) }
    case 'running':
      return { name: 'Refused', message: `${outcome.task.id} is running` }
    case 'error':
      return { name: 'Refused', message: faultOf(outcome.error) }
  }
}

/** The waker ticks within a second, so a schedule that is due for longer has probably lost its message. */
const LATE_MS = 2_000
const PAGE_SCHEDULES = 100
/** How many schedules of one shard tick at the same time. One tick takes four calls in sequence. */
const TICKS_AT_ONCE_MAX = 10
/** A round that renews bodies reads at most this many schedules of each shard. */
const RENEWED_PER_SHARD_MAX = 100
/** The share of the rounds that renew bodies. Bodies are renewed days before they expire, so some rounds are enough. */
const RENEWAL_SHARE = 0.1
const RENEWALS_AT_ONCE_MAX = 5

/**
 * One round of the safety net for schedules: ticks schedules that are late, and renews the task bodies of other
 * schedules, which may wait for years or be paused.
 *
 * The sweeper ticks a late schedule directly instead of sending a look, so the tick needs no queue while queues are
 * down or congested. Rounds come every minute. A schedule whose message was lost ticks within 62 s of its time, and
 * within 122 s when one round is lost or comes a minute late.
 *
 * A round goes through all late schedules, the earliest due first, for up to 30 s. A schedule that cannot tick keeps
 * its position in the index and delays the others by its own calls only.
 */
export async function sweepSchedules(system: System, stopAt: number): Promise<SweepReport> {
  return sumOf(await Promise.all([tickLateSchedules(system, stopAt), renewSomeBodies(system)]))
}

async function tickLateSchedules(system: System, stopAt: number): Promise<SweepReport> {
  const now = system.clock.now()
  const ranges = openScheduleRanges({ to: now - LATE_MS })
  const all = (await sideBySide(ranges, ranges.length, range => tickRange(system, range, stopAt))).flat()
  const ticked = all.filter(({ outcome }) => outcome === 'ticked')
  if (ticked.length > 0) {
    system.metrics.add('SweeperRepaired', ticked.length, EVERY_TYPE)
    system.log.warn('ticked schedules that were late', { schedules: ticked.length, first: ticked[0]?.id })
  }
  const failed = all.filter(({ outcome }) => outcome === 'failed')
  const [first] = failed
  if (first) {
    const { id, error } = first
    system.log.error('late schedules did not tick', { schedules: failed.length, first: id, error })
  }
  return { examined: all.length, repaired: ticked.length, failed: failed.length }
}

type TickReport = {
  readonly id: string
  readonly outcome: 'ticked' | 'not-due' | 'failed'
  readonly error?: unknown
}

/** Ticks the schedules of one range. The position moves past each entry that was read, whether or not its schedule ticked. */
async function tickRange(system: System, range: IndexRange, stopAt: number): Promise<TickReport[]> {
  const swept: TickReport[] = []
  let position: IndexEntry | undefined
  do {
    const page = await system.tasks.page({
      ...range,
      limit: PAGE_SCHEDULES,
      ...(position && { after: position }),
    })
    swept.push(...(await sideBySide(page.entries, TICKS_AT_ONCE_MAX, ({ id }) => tickLate(system, id))))
    position = page.more ? page.entries.at(-1) : undefined
  } while (position && system.clock.now() < stopAt)
  return swept
}

async function tickLate(system: System, id: string): Promise<TickReport> {
  try {
    const { ticked } = await tickSchedule(system, { id })
    return { id, outcome: ticked ? 'ticked' : 'not-due' }
  } catch (error) {
    return { id, outcome: 'failed', error }
  }
}

async function renewSomeBodies(system: System): Promise<SweepReport> {
  if (system.chance.fraction() >= RENEWAL_SHARE) return NOTHING_SWEPT
  const heads = await openSchedules(system)
  await renewAgeingBodies(system, heads, RENEWALS_AT_ONCE_MAX, touchSchedule)
  return { ...NOTHING_SWEPT, examined: heads.length }
}

/** The next schedules of each shard, from where the last round stopped. */
async function openSchedules(system: System): Promise<Schedule[]> {
  const ranges = openScheduleRanges()
  const found = await sideBySide(ranges, ranges.length, (range, shard) =>
    readFromCursor(system, sweepRecord.schedules(shard), range, RENEWED_PER_SHARD_MAX),
  )
  const ids = new Set(found.flat().map(({ id }) => id))
  return ids.size > 0 ? (await system.tasks.heads([...ids])).filter(isSchedule) : []
}
