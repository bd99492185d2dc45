/**
 * Workers as the registry knows them: their ids, versions and signs of life. `targeted.ts` says for which of the workers that
 * a task lists it still waits.
 */

import { WORKER_ID_BYTES_MAX } from '../bounds.ts'

/** What tells a worker that a task is meant for it: the task as it stood when it could be claimed. */
export type Marker = {
  readonly workerId: string
  readonly taskId: string
  readonly born: string
  readonly revision: number
}

/** A worker as it announces itself. Times are milliseconds since the epoch. */
export type Worker = {
  readonly workerId: string
  readonly kind: 'standalone' | 'http'
  readonly version?: string
  /** Types whose tasks it takes. */
  readonly types: readonly string[]
  /** When it last showed a sign of life about each of them, where only that tells which it takes. */
  readonly typesSeen?: Readonly<Record<string, number>>
  /** How many tasks it runs, as far as it says so itself. */
  readonly running?: number
  /** Claims over HTTP in a row that waited and found no work. */
  readonly emptyWaits?: number
  /** A claim over HTTP waits for work until then. */
  readonly waitingUntil?: number
  readonly startedAt: number
  readonly lastSeen: number
}

/**
 * Of two standalone workers with one id, the one that started first is on its way out: its word must not hide the other,
 * unless that one is gone.
 */
export function yieldsTo(worker: Worker, present: Worker): boolean {
  if (worker.kind !== 'standalone' || present.kind !== 'standalone') return false
  return present.startedAt > worker.startedAt && present.lastSeen + WORKER_LIFE_MS > worker.lastSeen
}

/** A marker outlives a worker's absence; the sweeper writes those anew whose task waits longer. */
export const MARKER_LIFE_MS = 86_400_000
/** A worker that has shown no sign of life for so long counts as gone. */
export const WORKER_LIFE_MS = 30_000
/** Taken out of the registry that long after its last sign of life, so that a clock that is a little off takes nobody out. */
export const WORKER_DROP_MS = WORKER_LIFE_MS + 10_000

const INVOCATION_PREFIX = 'lambda-'
const REQUEST_ID_CHARACTERS = 13

/** The worker that one invocation of a function is. Short, since heads store it; the beginning of a request id finds its log lines. */
export function invocationWorkerId(requestId: string): string {
  return `${INVOCATION_PREFIX}${requestId.slice(0, REQUEST_ID_CHARACTERS)}`
}

/** Whether a worker is an invocation of a function, which never comes back. */
export function isInvocation(workerId: string): boolean {
  return workerId.startsWith(INVOCATION_PREFIX)
}

/** Whether heads have room for a worker's id. */
export function isShortWorkerId(workerId: string): boolean {
  return new TextEncoder().encode(workerId).length <= WORKER_ID_BYTES_MAX
}

/** Whether a worker of version `version` may take a task that asks for at least `minimum` (dotted numbers: 1.4.0). */
export function versionSuffices(version: string | undefined, minimum: string | undefined): boolean {
  if (minimum === undefined) return true
  if (version === undefined) return false
  const [have, need] = [parts(version), parts(minimum)]
  for (let i = 0; i < Math.max(have.length, need.length); i++) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

function parts(version: string): number[] {
  return version.split('.').map(Number)
}
