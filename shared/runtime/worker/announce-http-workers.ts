import type { Claimer } from '../../core/run/claim.ts'
import { WORKER_LIFE_MS, type Worker } from '../../core/worker/worker.ts'
import { isWithin, type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'

/** A worker that claims or beats all the time costs one read and one write in so long, per process that hears it. */
const INTERVAL_MS = 10_000
const MAX_KNOWN = 10_000

type Registry = Pick<System, 'workers' | 'clock' | 'log'>

/** What the registry says about the waits of a worker. */
type Waits = Pick<Worker, 'emptyWaits' | 'waitingUntil'>

/** What the registry said when a worker asked for tasks, and what it is to say. Never fails. */
export type WaitHistory = {
  /** Waits in a row that found no work. */
  readonly emptyWaits: number
  /** Writes `waits`; without them, the worker's sign of life if that is due. */
  record(waits?: Waits): Promise<void>
}

/** Announces those who work over HTTP by what they do anyway. */
export type HttpWorkers = {
  /** The worker showed a sign of life, about tasks of these types. Never fails. */
  recordActivity(claimer: Claimer, types: readonly string[]): Promise<void>
  /** The worker asks for tasks of these types and would wait for them: one read, and no write yet. */
  beginWait(claimer: Claimer, types: readonly string[]): Promise<WaitHistory>
}

/** What this process has heard of a worker. */
type Heard = {
  readonly version: string | undefined
  /** By type, when it was last heard of. */
  readonly typesSeen: Readonly<Record<string, number>>
  readonly announced: Moment
}

export function createHttpWorkers(system: Registry): HttpWorkers {
  const known = new Map<string, Heard>()
  const remember = (workerId: string, heard: Heard) => {
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(workerId, heard)
  }
  return {
    recordActivity: async ({ workerId, version }, types) => {
      const now = system.clock.now()
      const earlier = known.get(workerId)
      const typesSeen = recent({ ...earlier?.typesSeen, ...timesOf(types, now) }, now)
      const isFresh = earlier !== undefined && isWithin(system.clock, earlier.announced, INTERVAL_MS)
      const isAnnounced = isFresh && types.every(type => Object.hasOwn(earlier.typesSeen, type))
      const announced = isAnnounced ? earlier.announced : momentOf(system.clock)
      const heard = { version: version ?? earlier?.version, typesSeen, announced }
      remember(workerId, heard)
      if (isAnnounced) return
      await unlessItFails(system, workerId, async () =>
        announce(system, workerId, heard, await storedHttp(system, workerId)),
      )
    },
    beginWait: async ({ workerId, version }, types) => {
      const stored = await unlessItFails(system, workerId, () => storedHttp(system, workerId))
      return {
        emptyWaits: stored?.emptyWaits ?? 0,
        record: async waits => {
          const now = system.clock.now()
          const heard = { version, typesSeen: timesOf(types, now), announced: momentOf(system.clock) }
          if (!waits && isFresh(stored, types, now)) return
          remember(workerId, heard)
          await unlessItFails(system, workerId, () =>
            announce(system, workerId, heard, stored, waits ?? waitsOf(stored)),
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

/** Another process may have announced the worker: its word counts as much as this one's. */
function isFresh(stored: Worker | undefined, types: readonly string[], now: number): boolean {
  if (!stored || stored.lastSeen + INTERVAL_MS <= now) return false
  return types.every(type => Object.hasOwn(stored.typesSeen ?? {}, type))
}

/**
 * Adds to what other processes have announced of the worker: each hears only some of its requests, and their words would
 * replace each other. Of two that announce at once one may be hidden until its next word, ten seconds later.
 */
async function announce(
  { workers }: Registry,
  workerId: string,
  heard: Heard,
  last: Worker | undefined,
  waits: Waits = waitsOf(last),
): Promise<void> {
  const now = heard.announced.wall
  const version = heard.version ?? last?.version
  const typesSeen = recent({ ...last?.typesSeen, ...heard.typesSeen }, now)
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
  return {
    ...(emptyWaits !== undefined && { emptyWaits }),
    ...(waitingUntil !== undefined && { waitingUntil }),
  }
}

/** A claim or a heartbeat does not depend on the registry. */
async function unlessItFails<T>(
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

/** A type that the worker has not been heard of for so long is one it takes no more. */
function recent(typesSeen: Readonly<Record<string, number>>, now: number): Record<string, number> {
  return Object.fromEntries(Object.entries(typesSeen).filter(([, seen]) => seen + WORKER_LIFE_MS > now))
}
