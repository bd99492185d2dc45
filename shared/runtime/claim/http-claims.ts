import { CLAIM_PATIENCE_MS, CLAIM_WAIT_MS_MAX } from '../../core/bounds.ts'
import { claimRecord } from '../../core/record-names.ts'
import type { Claimer } from '../../core/run/claim.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { registeredNames } from '../types/types.ts'
import type { HttpWorkers } from '../worker/announce-http-workers.ts'
import { claimOncePerRequest } from './claim-once-per-request.ts'
import { type ClaimResult, claimReady } from './claim-ready.ts'
import { clearClaimed, findTargets } from './claim-targets.ts'
import { type ClaimedTask, withContents } from './claimed-task.ts'
import { type ClaimPace, DEFAULT_PACE, type WaitOutcome, waitForWork } from './wait-for-work.ts'

export type ClaimsRequest = {
  readonly types: readonly string[]
  readonly claimer: Claimer
  readonly limit: number
  /** Identifies the request. A repetition is answered with the claims of the first request, as long as their runs live. */
  readonly requestId?: string
  /** How long the request may wait for a task to claim. */
  readonly waitMs?: number
}

export type ClaimsAnswer =
  | {
      readonly ok: true
      readonly claims: readonly ClaimedTask[]
      /** How long an idle worker has to wait before it asks again, in milliseconds. */
      readonly retryAfterMs?: number
    }
  | { readonly ok: false; readonly reason: 'too-many-waiting'; readonly retryAfterMs: number }
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly type: string
      readonly existing: string[]
    }
  | { readonly ok: false; readonly reason: 'not-http'; readonly type: TaskType }

const CONCURRENT_READS_MAX = 25

/** Claims tasks for an HTTP worker, with their inputs. Claims no tasks of paused types. */
export async function claimOverHttp(
  system: System,
  request: ClaimsRequest,
  workers: HttpWorkers,
  pace: ClaimPace = DEFAULT_PACE,
): Promise<ClaimsAnswer> {
  const types = await readTypes(system, request.types)
  if (!Array.isArray(types)) return types
  const { claimer, requestId, waitMs = 0 } = request
  const mayWaitMs = Math.min(waitMs, CLAIM_WAIT_MS_MAX)
  // Stays undefined for a repetition that finds the answer of its first request: it neither waits for work nor claims.
  let outcome: WaitOutcome | undefined
  const claim = async (ms: number) => {
    const tryOnce = claimTryOf(system, types, request, system.clock.now() + ms + CLAIM_PATIENCE_MS)
    const names = types.map(({ type }) => type)
    outcome = await waitForWork(system, { claimer, types: names, waitMs: ms, pace, workers, tryOnce })
    return outcome.claimed
  }
  const claimed =
    requestId === undefined
      ? await claim(mayWaitMs)
      : await claimOncePerRequest(
          system,
          claimRecord(claimer.workerId, requestId, request.types),
          mayWaitMs,
          claim,
        )
  const { retryAfterMs, isRefused } = outcome ?? {}
  if (isRefused)
    return { ok: false, reason: 'too-many-waiting', retryAfterMs: retryAfterMs ?? pace.retryAfterMs }
  const claims = await withContents(system, claimed)
  return { ok: true, claims, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

type Refusal = Extract<ClaimsAnswer, { reason: 'unknown-type' | 'not-http' }>

async function readTypes(system: System, names: readonly string[]): Promise<TaskType[] | Refusal> {
  const types: TaskType[] = []
  for (const name of new Set(names)) {
    const type = await system.types.get(name)
    if (!type) return unknownType(system, name)
    if (type.configuration.kind !== 'http') return { ok: false, reason: 'not-http', type }
    types.push(type)
  }
  return types
}

async function unknownType(system: System, type: string): Promise<Refusal> {
  const existing = await registeredNames(system)
  return { ok: false, reason: 'unknown-type', type, existing }
}

/**
 * One try of a claim, which may be repeated. From the second try on, the types are read again: a pause may have changed.
 */
function claimTryOf(
  system: System,
  types: readonly TaskType[],
  { claimer, limit }: ClaimsRequest,
  until: number,
): () => Promise<Pick<ClaimResult, 'claimed' | 'nextSlotAt'>> {
  let known: readonly TaskType[] | undefined = types
  return async () => {
    const current = known ?? (await readAgain(system, types))
    known = undefined
    const unpaused = current.filter(type => !type.paused)
    return unpaused.length > 0
      ? claimOnce(system, unpaused, claimer, { wanted: limit, until })
      : NOTHING_CLAIMED
  }
}

async function readAgain(system: System, types: readonly TaskType[]): Promise<TaskType[]> {
  const current = await sideBySide(types, CONCURRENT_READS_MAX, ({ type }) => system.types.get(type))
  return current.filter(type => type !== undefined)
}

const NOTHING_CLAIMED: Pick<ClaimResult, 'claimed' | 'nextSlotAt'> = {
  claimed: [],
  nextSlotAt: Number.POSITIVE_INFINITY,
}

async function claimOnce(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  { wanted, until }: { readonly wanted: number; readonly until: number },
): Promise<Pick<ClaimResult, 'claimed' | 'nextSlotAt'>> {
  const names = types.map(({ type }) => type)
  const found = await findTargets(system, claimer, names)
  const targets = found.map(({ task }) => task)
  const outcome = await claimReady(system, types, claimer, { wanted, targets, until })
  await clearClaimed(system, found, outcome.claimed)
  return outcome
}
