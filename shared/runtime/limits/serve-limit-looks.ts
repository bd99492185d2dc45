import { isItemFault } from '../../core/errors.ts'
import {
  type Holder,
  hasLiveWaitNote,
  LIMIT_LOOK_INTERVAL_S,
  LIMIT_LOOK_SOON_S,
  type LimitChange,
  type LimitLook,
  mayBeStale,
  WAIT_NOTE_LIFE_MS,
} from '../../core/limits/held-permits.ts'
import { typeOfLimit } from '../../core/limits/limits.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'
import { cachedTypeReader } from '../types/type-cache.ts'
import { admitWaiting, readWaitingTasks } from './admit-waiting.ts'

/** An index may show late who has just begun to wait: so often in a row nobody may be found before nobody waits. */
const QUIET_ROUNDS = 2
/** Of a limit that is no more all may go on, so many at a time. */
const MOST_UNLIMITED = 100
/** Limits that one round of the sweeper asks about. */
const MOST_FORGOTTEN = 20

/**
 * Sees to those who wait for permits of a limit: lets as many in as there is room for, or as were `given` back. Looks that come
 * again as long as somebody waits also take out holders whose runs are over: this repairs whatever a lost message or a
 * dead process leaves. Of these there is one series: one that does not find its own note any more ends.
 */
export async function serveLimitLook(system: System, look: LimitLook, given = 1): Promise<void> {
  const { limit, quiet, since } = look
  if (quiet === undefined) return handOn(system, limit, given)
  const [max, { holders, waitsSince }] = await Promise.all([
    mostOf(system, limit),
    system.limits.permits(limit),
  ])
  if (waitsSince !== since) return
  const room = roomFor(max, await withoutStale(system, limit, holders))
  const waiting = await readWaitingTasks(system, limit, room)
  const { count, isWaitedFor } = await admitWaiting(system, waiting, { room, isRepair: true })
  if (!isWaitedFor && quiet + 1 >= QUIET_ROUNDS) {
    if (since !== undefined) await endSeries(system, limit, since)
    return
  }
  const delaySeconds = count > 0 ? LIMIT_LOOK_SOON_S : LIMIT_LOOK_INTERVAL_S
  await lookAgain(system, { ...look, quiet: isWaitedFor ? 0 : quiet + 1, delaySeconds })
}

/**
 * Lets as many in as permits were given back. Each hand-over of a permit passes here, so the holders and the tasks that wait
 * are read side by side.
 */
async function handOn(system: System, limit: string, given: number): Promise<void> {
  const [max, { holders }, waiting] = await Promise.all([
    mostOf(system, limit),
    system.limits.permits(limit),
    readWaitingTasks(system, limit, given),
  ])
  const room = Math.min(roomFor(max, holders.length), given)
  if (room > 0) await admitWaiting(system, waiting, { room, isRepair: false })
}

async function mostOf(system: System, limit: string): Promise<number | undefined> {
  const type = await cachedTypeReader(system)(typeOfLimit(limit))
  return type?.configuration.limits?.concurrency?.max
}

function roomFor(max: number | undefined, held: number): number {
  return max === undefined ? MOST_UNLIMITED : Math.max(0, max - held)
}

/** Takes out those whose run is not live: it ended without giving its permit back, or never began. Answers how many are left. */
async function withoutStale(system: System, limit: string, holders: readonly Holder[]): Promise<number> {
  const now = system.clock.now()
  const old = holders.filter(one => mayBeStale(one, now))
  const checked = await Promise.all(old.map(async one => ((await isHeld(system, limit, one)) ? [] : [one])))
  let left = holders.length
  for (const { holder, since } of checked.flat()) {
    left = (await system.limits.release(limit, holder, since)).holders.length
  }
  return left
}

/** No run of a task that cannot be read can go on: its heartbeats are refused. */
async function isHeld(system: System, limit: string, { holder, taskId }: Holder): Promise<boolean> {
  const head = await system.tasks.head(taskId).catch(error => {
    if (!isItemFault(error)) throw error
    return undefined
  })
  const permits = Object.values(head?.live ?? {}).flatMap(run => run.permits ?? [])
  return permits.some(permit => permit.limit === limit && permit.holder === holder)
}

/** Whoever read the note just before it was taken away, and waits by it, is found by one look more. */
async function endSeries(system: System, limit: string, since: number): Promise<void> {
  await system.limits.clearWaiting(limit, since)
  const last = { limit, quiet: QUIET_ROUNDS - 1, delaySeconds: LIMIT_LOOK_INTERVAL_S }
  const [failure] = await system.messages.lookAtLimits([last])
  if (failure) system.log.warn('a limit is not looked at once more', { limit, ...failure })
}

/** The next look of the series goes by the note that this one renews; what cannot be sent finds its own again. */
async function lookAgain(system: System, look: LimitLook): Promise<void> {
  const { limit, since } = look
  const now = system.clock.now()
  if (!(await system.limits.renewWaiting(limit, now, since))) return
  const [failure] = await system.messages.lookAtLimits([{ ...look, since: now }])
  if (!failure) return
  if (since === undefined) await system.limits.clearWaiting(limit, now)
  else await system.limits.renewWaiting(limit, since, now)
  throw new Error(`the look at ${limit} could not be sent on: ${failure.reason}`)
}

/** Begins to see to those among `tasks` who wait for permits where nobody does any more: the message that did was lost. */
export async function serveForgottenLimits(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const old = tasks.filter(({ updatedAt }) => updatedAt + WAIT_NOTE_LIFE_MS <= now)
  const limits = new Set(old.flatMap(({ wait }) => (wait?.kind === 'permit' ? wait.limit : [])))
  for (const limit of [...limits].slice(0, MOST_FORGOTTEN)) {
    const held = await system.limits.permits(limit)
    if (hasLiveWaitNote(held, now)) continue
    const { waitsSince: since } = held
    await serveLimitLook(system, { limit, quiet: 0, ...(since !== undefined && { since }), delaySeconds: 0 })
  }
}

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
    ...noted.map(({ limit, since }) => ({ limit, quiet: 0, since, delaySeconds: LIMIT_LOOK_INTERVAL_S })),
  ]
}

/** Limits of one type that a round asks about. */
const MOST_LIMITS = 20

/** Sees to the limits that some of `tasks` have waited long for. One that cannot be seen to harms no other. */
export async function sweepLimits(system: System, tasks: readonly Task[]): Promise<void> {
  const now = system.clock.now()
  const old = tasks.filter(
    ({ wait, updatedAt }) => wait?.kind === 'permit' && updatedAt + WAIT_NOTE_LIFE_MS <= now,
  )
  if (old.length === 0) return
  const byLimit = [...Map.groupBy(old, ({ wait }) => wait?.limit)]
  const start = Math.floor(byLimit.length * system.chance.fraction())
  const round = [...byLimit.slice(start), ...byLimit.slice(0, start)].slice(0, MOST_LIMITS)
  for (const [limit, waiting] of round) {
    await serveForgottenLimits(system, waiting).catch(error => {
      system.log.error('a limit was not seen to', { limit, error })
    })
  }
}
