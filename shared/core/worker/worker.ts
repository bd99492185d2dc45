/**
 * Workers as the registry knows them: their ids, versions and signs of life. `own-retries.ts` says for which of the workers
 * that a task lists it still waits.
 */

import { WORKER_ID_BYTES_MAX } from '../bounds.ts'

/** An item that announces a task to a worker that the task lists. It names the task's revision at which the task could be claimed. */
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
  /** The types whose tasks the worker takes. */
  readonly types: readonly string[]
  /** The last sign of life for each type, for workers whose types are known only from their requests. */
  readonly typesSeen?: Readonly<Record<string, number>>
  /** How many tasks the worker runs, if it reports that. */
  readonly running?: number
  /** How many of its last claims over HTTP, in a row, waited and found no work. */
  readonly emptyWaits?: number
  /** The time until which a claim of the worker over HTTP waits for work. */
  readonly waitingUntil?: number
  readonly startedAt: number
  readonly lastSeen: number
}

/** A marker expires after this time. When its task waits longer, the sweeper writes the marker again. */
export const MARKER_LIFE_MS = 86_400_000
/** A worker that has shown no sign of life for this long counts as gone. */
export const WORKER_LIFE_MS = 30_000
/** A worker is removed from the registry this long after its last sign of life. The margin covers small clock errors. */
export const WORKER_DROP_MS = WORKER_LIFE_MS + 10_000

const INVOCATION_PREFIX = 'lambda-'
const REQUEST_ID_CHARACTERS = 13

/**
 * The worker id of a Lambda invocation. It is short, because heads store it. An operator finds the invocation's log lines by the
 * beginning of its request id.
 */
export function invocationWorkerId(requestId: string): string {
  return `${INVOCATION_PREFIX}${requestId.slice(0, REQUEST_ID_CHARACTERS)}`
}

/** Whether the worker is a Lambda invocation. The id of an ended invocation never claims again. */
export function isInvocation(workerId: string): boolean {
  return workerId.startsWith(INVOCATION_PREFIX)
}

/** Whether a worker's id is short enough for heads. */
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
