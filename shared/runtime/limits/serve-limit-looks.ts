import { isItemFault } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import {
  decideSeries,
  EMPTY_LOOKS_MAX,
  FIRST_LOOK_S,
  freePermitsIn,
  type Holder,
  hasLiveWaitNote,
  LIMIT_LOOK_INTERVAL_S,
  type LimitChange,
  type LimitLook,
  mayBeStale,
  shardsOf,
  WAIT_NOTE_LIFE_MS,
} from '../../core/limits/held-permits.ts'
import { typeOfLimit } from '../../core/limits/limits.ts'
import type { Task } from '../../core/task/task.ts'
import { readTask } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { admitWaiting, readWaitingTasks } from './admit-waiting.ts'

/** When a limit has been removed, all its waiting tasks are admitted, this many at a time. */
const UNLIMITED_TASKS_MAX = 100

/**
 * Serves one look at a concurrency limit: admits as many waiting tasks as it has free permits.
 *
 * A look after a release admits at most as many tasks as permits were `released`. The other looks form a series that goes
 * on as long as tasks wait. They also remove holders whose runs are over, which repairs what lost messages and dead
 * processes leave. Each limit has one series: a look that does not find its own note at the limit ends its series.
 */
export async function serveLimitLook(system: System, look: LimitLook): Promise<void> {
  const { limit, emptyLooksInRow, since } = look
  if (emptyLooksInRow === undefined) return admitForReleased(system, look)
  const max = await maxOf(system, limit)
  const shards = shardsOf(max ?? 1)
  const { holders, waitNotedAt } = await system.limits.permits(limit, shards)
  if (waitNotedAt !== since) return
  const free = freePermits(max, shards, await withoutStaleHolders(system, limit, holders))
  const waiting = await readWaitingTasks(system, limit, free)
  const { count: admitted, isWaitedFor } = await admitWaiting(system, waiting, { free, isRepair: true })
  const next = decideSeries(emptyLooksInRow, { admitted, isWaitedFor })
  if (next.kind === 'look-again') {
    const { kind: _kind, ...changed } = next
    return lookAgain(system, { ...look, ...changed })
  }
  if (since !== undefined) await endSeries(system, limit, since)
}

/**
 * Admits as many tasks as permits were released. Each waiting task gets its permit this way, so to be fast the shards of these
 * permits and the waiting tasks are read at the same time.
 */
async function admitForReleased(
  system: System,
  { limit, released = 1, shards: named }: LimitLook,
): Promise<void> {
  const max = await maxOf(system, limit)
  const shards = named ? [...new Set(named)] : shardsOf(max ?? 1)
  const [{ holders }, waiting] = await Promise.all([
    system.limits.permits(limit, shards),
    readWaitingTasks(system, limit, released),
  ])
  const free = Math.min(freePermits(max, shards, holders), released)
  if (free > 0) await admitWaiting(system, waiting, { free, isRepair: false, shards: named ?? [] })
}

async function maxOf(system: System, limit: string): Promise<number | undefined> {
  const type = await cachedTypeReader(system)(typeOfLimit(limit))
  return type?.configuration.limits?.concurrency?.max
}

function freePermits(max: number | undefined, shards: readonly number[], held: readonly Holder[]): number {
  return max === undefined ? UNLIMITED_TASKS_MAX : freePermitsIn(shards, max, held)
}

/** Removes holders whose run is not live: it ended without releasing its permit, or never began. Returns the holders that are left. */
async function withoutStaleHolders(
  system: System,
  limit: string,
  holders: readonly Holder[],
): Promise<readonly Holder[]> {
  const now = system.clock.now()
  const old = holders.filter(one => mayBeStale(one, now))
  const checked = await Promise.all(old.map(async one => ((await isHeld(system, limit, one)) ? [] : [one])))
  const removed = new Set<string>()
  for (const { holder, since } of checked.flat()) {
    const left = await system.limits.release(limit, holder, { since })
    if (!left.holders.some(one => one.holder === holder)) removed.add(holder)
  }
  return holders.filter(({ holder }) => !removed.has(holder))
}

/**
 * Whether a live run of the task holds the permit. A task that cannot be read has no live run: its heartbeats are
 * refused.
 */
async function isHeld(system: System, limit: string, { holder, taskId }: Holder): Promise<boolean> {
  const head = await readTask(system, taskId).catch(error => {
    if (!isItemFault(error)) throw error
    return undefined
  })
  const permits = Object.values(head?.live ?? {}).flatMap(run => run.permits ?? [])
  return permits.some(permit => permit.limit === limit && permit.holder === holder)
}

/**
 * Ends the series: removes the note and sends one more look. That look finds a task whose claim read the note just before
 * it was removed, and therefore wrote no new one.
 */
async function endSeries(system: System, limit: string, since: number): Promise<void> {
  await system.limits.clearWaiting(limit, since)
  const last = { limit, emptyLooksInRow: EMPTY_LOOKS_MAX - 1, delaySeconds: LIMIT_LOOK_INTERVAL_S }
  const [failure] = await system.messages.lookAtLimits([last])
  if (failure) system.log.warn('the last look at a limit was not sent', { limit, ...failure })
}

/**
 * Renews the note and sends the next look of the series. If it cannot be sent, the old note is restored. Then this look
 * finds its own note when SQS delivers its message again.
 */
async function lookAgain(system: System, look: LimitLook): Promise<void> {
  const { limit, since } = look
  const now = system.clock.now()
  if (!(await system.limits.renewWaiting(limit, now, since))) return
  const [failure] = await system.messages.lookAtLimits([{ ...look, since: now }])
  if (!failure) return
  if (since === undefined) await system.limits.clearWaiting(limit, now)
  else await system.limits.renewWaiting(limit, since, now)
  throw new Error(`the look at ${limit} could not be repeated: ${failure.reason}`)
}

/**
 * The planner's part: sends the waker looks at limits that tasks wait for. It sends one message for all permits of a limit
 * that were released in this batch, and the first look of a series after a note.
 *
 * A message that cannot be sent does not make the stream repeat its batch. The series looks at the limit within 15 s, and the
 * sweeper begins a series that is missing.
 */
export async function planLimits(
  { messages, log }: Pick<System, 'messages' | 'log'>,
  changes: readonly LimitChange[],
): Promise<void> {
  if (changes.length === 0) return
  const looks = looksOf(changes)
  const failures = await messages.lookAtLimits(looks)
  for (const { index, ...why } of failures) {
    log.warn('a look at a limit was not sent; a later look serves the limit', {
      limit: looks[index]?.limit,
      ...why,
    })
  }
}

function looksOf(changes: readonly LimitChange[]): LimitLook[] {
  const freed = groupBy(
    changes.filter(change => change.kind === 'freed'),
    ({ limit }) => limit,
  )
  const noted = changes.filter(change => change.kind === 'noted')
  return [
    ...[...freed].map(([limit, permits]) => ({
      limit,
      released: permits.length,
      shards: permits.map(({ shard }) => shard),
      delaySeconds: 0,
    })),
    ...noted.map(({ limit, since }) => ({
      limit,
      emptyLooksInRow: 0,
      since,
      delaySeconds: FIRST_LOOK_S,
    })),
  ]
}

/** The sweeper serves at most this many limits of a type in one round. */
const SWEPT_LIMITS_MAX = 20

/**
 * The sweeper's part: begins a new series of looks at limits that some of `tasks` have waited long for, if the series has
 * stopped because a message was lost. A failure at one limit does not stop the others.
 */
export async function sweepLimits(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const old = tasks.filter(({ updatedAt }) => updatedAt + WAIT_NOTE_LIFE_MS <= now)
  const limits = [...new Set(old.flatMap(({ wait }) => (wait?.kind === 'permit' ? wait.limit : [])))]
  if (limits.length === 0) return
  const start = Math.floor(limits.length * system.chance.fraction())
  const round = [...limits.slice(start), ...limits.slice(0, start)].slice(0, SWEPT_LIMITS_MAX)
  for (const limit of round) {
    await resumeSeries(system, limit).catch(error => {
      system.log.error('a limit was not swept', { limit, error })
    })
  }
}

async function resumeSeries(system: System, limit: string): Promise<void> {
  const permits = await system.limits.permits(limit, [0])
  if (hasLiveWaitNote(permits, system.clock.now())) return
  const { waitNotedAt: since } = permits
  const note = since !== undefined && { since }
  await serveLimitLook(system, { limit, emptyLooksInRow: 0, ...note, delaySeconds: 0 })
}
