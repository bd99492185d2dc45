import type { Claimer } from '../core/claim.ts'
import { WORKER_LIFE_MS, type Worker } from '../core/worker.ts'
import { isWithin, type Moment, momentOf } from './moment.ts'
import type { System } from './system.ts'

/** A worker that claims or beats all the time costs one read and one write in so long, per process that hears it. */
const INTERVAL_MS = 10_000
const MAX_KNOWN = 10_000

/** Announces those who work over HTTP by what they do anyway. */
export type HttpWorkers = {
  /** The worker showed a sign of life, about tasks of these types. Never fails. */
  seen(claimer: Claimer, types: readonly string[]): Promise<void>
}

/** What this process has heard of a worker. */
type Heard = {
  readonly version: string | undefined
  /** By type, when it was last heard of. */
  readonly typesSeen: Readonly<Record<string, number>>
  readonly announced: Moment
}

export function httpWorkers(system: Pick<System, 'workers' | 'clock' | 'log'>): HttpWorkers {
  const known = new Map<string, Heard>()
  return {
    seen: async ({ workerId, version }, types) => {
      const now = system.clock.now()
      const earlier = known.get(workerId)
      const typesSeen = recent({ ...earlier?.typesSeen, ...timesOf(types, now) }, now)
      const isFresh = earlier !== undefined && isWithin(system.clock, earlier.announced, INTERVAL_MS)
      const isAnnounced = isFresh && types.every(type => Object.hasOwn(earlier.typesSeen, type))
      const heard = {
        version: version ?? earlier?.version,
        typesSeen,
        announced: isAnnounced ? earlier.announced : momentOf(system.clock),
      }
      if (known.size >= MAX_KNOWN) known.clear()
      known.set(workerId, heard)
      if (isAnnounced) return
      await announce(system, workerId, heard).catch(error => {
        system.log.warn('a worker could not be announced', { workerId, error })
      })
    },
  }
}

/**
 * Adds to what other processes have announced of the worker: each hears only some of its requests, and their words would
 * replace each other. Of two that announce at once one may be hidden until its next word, ten seconds later.
 */
async function announce({ workers }: Pick<System, 'workers'>, workerId: string, heard: Heard): Promise<void> {
  const now = heard.announced.wall
  const stored = await workers.get(workerId)
  const last = stored?.kind === 'http' ? stored : undefined
  const version = heard.version ?? last?.version
  const typesSeen = recent({ ...last?.typesSeen, ...heard.typesSeen }, now)
  const worker: Worker = {
    workerId,
    kind: 'http',
    ...(version !== undefined && { version }),
    types: Object.keys(typesSeen).sort(),
    typesSeen,
    startedAt: last?.startedAt ?? now,
    lastSeen: now,
  }
  await workers.announce(worker)
}

function timesOf(types: readonly string[], now: number): Record<string, number> {
  return Object.fromEntries(types.map(type => [type, now]))
}

/** A type that the worker has not been heard of for so long is one it takes no more. */
function recent(typesSeen: Readonly<Record<string, number>>, now: number): Record<string, number> {
  return Object.fromEntries(Object.entries(typesSeen).filter(([, seen]) => seen + WORKER_LIFE_MS > now))
}
