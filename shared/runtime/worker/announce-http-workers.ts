import type { Claimer } from '../../core/run/claim.ts'
import { defined } from '../../core/values/values.ts'
import { WORKER_LIFE_MS, type Worker } from '../../core/worker.ts'
import { isWithin, type Moment, momentOf, type System } from '../kernel/system.ts'

/** A worker that claims or heartbeats all the time costs one read and one write per interval, for each process that serves it. */
const ANNOUNCE_INTERVAL_MS = 10_000
const WORKERS_KNOWN_MAX = 10_000

type Registry = Pick<System, 'workers' | 'clock' | 'log'>

/** The fields of the registry about the waits of a worker. */
type Waits = Pick<Worker, 'emptyWaits' | 'waitingUntil'>

/** What the registry said when a worker began to wait for tasks, and how to record the wait. */
export type WaitHistory = {
  /** The number of consecutive waits that found no work. */
  readonly emptyWaits: number
  /** Writes `waits`, or without them the worker's sign of life if that is due. Never fails. */
  record(waits?: Waits): Promise<void>
}

/** Registers workers that claim over HTTP by the requests that they make anyway. */
export type HttpWorkers = {
  /** Records a sign of life of the worker, for tasks of these types. Never fails. */
  recordActivity(claimer: Claimer, types: readonly string[]): Promise<void>
  /**
   * Reads what the registry has about a worker that asks for tasks of these types and is about to wait: one
   * read, and no write yet. Never fails.
   */
  beginWait(claimer: Claimer, types: readonly string[]): Promise<WaitHistory>
}

type KnownWorker = {
  readonly version: string | undefined
  /** By type, when the worker last asked for it. */
  readonly typesSeen: Readonly<Record<string, number>>
  readonly announced: Moment
}

export function createHttpWorkers(system: Registry): HttpWorkers {
  const known = new Map<string, KnownWorker>()
  const remember = (workerId: string, seen: KnownWorker) => {
    if (known.size >= WORKERS_KNOWN_MAX) known.clear()
    known.set(workerId, seen)
  }
  return {
    recordActivity: async ({ workerId, version }, types) => {
      const now = system.clock.now()
      const earlier = known.get(workerId)
      const typesSeen = withoutOldTypes({ ...earlier?.typesSeen, ...timesOf(types, now) }, now)
      const isRecent =
        earlier !== undefined && isWithin(system.clock, earlier.announced, ANNOUNCE_INTERVAL_MS)
      const isAnnounced = isRecent && types.every(type => Object.hasOwn(earlier.typesSeen, type))
      const announced = isAnnounced ? earlier.announced : momentOf(system.clock)
      const seen = { version: version ?? earlier?.version, typesSeen, announced }
      remember(workerId, seen)
      if (isAnnounced) return
      await logFailure(system, workerId, async () =>
        announce(system, workerId, seen, await storedHttp(system, workerId)),
      )
    },
    beginWait: async ({ workerId, version }, types) => {
      const stored = await logFailure(system, workerId, () => storedHttp(system, workerId))
      return {
        emptyWaits: stored?.emptyWaits ?? 0,
        record: async waits => {
          const now = system.clock.now()
          const seen = { version, typesSeen: timesOf(types, now), announced: momentOf(system.clock) }
          if (!waits && isFresh(stored, types, now)) return
          remember(workerId, seen)
          await logFailure(system, workerId, () =>
            announce(system, workerId, seen, stored, waits ?? waitsOf(stored)),
          )
        },
      }
    },
  }
}

async function storedHttp({ workers }: Registry, workerId: string): Promise<Worker | undefined> {
  const stored = await workers.get(workerId)
  return stored?.kind === 'http' ? stored : undefined
}

/** Whether the registry is up to date. An announcement by another process counts as much as one by this process. */
function isFresh(stored: Worker | undefined, types: readonly string[], now: number): boolean {
  if (!stored || stored.lastSeen + ANNOUNCE_INTERVAL_MS <= now) return false
  return types.every(type => Object.hasOwn(stored.typesSeen ?? {}, type))
}

/**
 * Writes the worker to the registry, and adds to what other processes have written of it: each process sees only some
 * of the requests of the worker, and its write would replace what the others wrote. Of two simultaneous writes one
 * may be lost until the next one, ten seconds later.
 */
async function announce(
  { workers }: Registry,
  workerId: string,
  seen: KnownWorker,
  last: Worker | undefined,
  waits: Waits = waitsOf(last),
): Promise<void> {
  const now = seen.announced.wall
  const version = seen.version ?? last?.version
  const typesSeen = withoutOldTypes({ ...last?.typesSeen, ...seen.typesSeen }, now)
  const worker: Worker = {
    workerId,
    kind: 'http',
    ...(version !== undefined && { version }),
    types: Object.keys(typesSeen).sort(),
    typesSeen,
    ...waits,
    startedAt: last?.startedAt ?? now,
    lastSeen: now,
  }
  await workers.announce(worker)
}

function waitsOf(worker: Worker | undefined): Waits {
  const { emptyWaits, waitingUntil } = worker ?? {}
  return defined({ emptyWaits, waitingUntil })
}

/** A claim or a heartbeat does not depend on the registry, so a failure is only logged. */
async function logFailure<T>(
  { log }: Registry,
  workerId: string,
  attempt: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await attempt()
  } catch (error) {
    log.warn('a worker could not be announced', { workerId, error })
    return undefined
  }
}

function timesOf(types: readonly string[], now: number): Record<string, number> {
  return Object.fromEntries(types.map(type => [type, now]))
}

/** Drops the types that the worker has not asked for within `WORKER_LIFE_MS`: it takes them no more. */
function withoutOldTypes(typesSeen: Readonly<Record<string, number>>, now: number): Record<string, number> {
  return Object.fromEntries(Object.entries(typesSeen).filter(([, seen]) => seen + WORKER_LIFE_MS > now))
}
