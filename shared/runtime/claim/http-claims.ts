import { CLAIM_PATIENCE_MS, CLAIM_WAIT_MS_MAX } from '../../core/bounds.ts'
import { claimRecord } from '../../core/record-names.ts'
import type { Claimer } from '../../core/run/claim.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import type { Json } from '../../core/values/values.ts'
import { readTask, sideBySide } from '../kernel/heads.ts'
import { elapsedSince, type Moment, momentOf, type System } from '../kernel/system.ts'
import { registeredNames } from '../types/types.ts'
import type { HttpWorkers } from '../worker/announce-http-workers.ts'
import { claimReady } from './claim-ready.ts'
import { clearClaimed, findTargets } from './claim-targets.ts'
import { type Claimed, type ClaimedTask, withContents } from './claimed-task.ts'
import { type ClaimPace, DEFAULT_PACE, type Tried, type WaitOutcome, waitForWork } from './wait-for-work.ts'

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

/** One try of a claim, which may be repeated. From the second try on, the types are read again: a pause may have changed. */
function claimTryOf(
  system: System,
  types: readonly TaskType[],
  { claimer, limit }: ClaimsRequest,
  until: number,
): () => Promise<Tried> {
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

const NOTHING_CLAIMED: Tried = {
  claimed: [],
  nextSlotAt: Number.POSITIVE_INFINITY,
}

async function claimOnce(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  { wanted, until }: { readonly wanted: number; readonly until: number },
): Promise<Tried> {
  const names = types.map(({ type }) => type)
  const found = await findTargets(system, claimer, names)
  const targets = found.map(({ task }) => task)
  const outcome = await claimReady(system, types, claimer, { wanted, targets, until })
  await clearClaimed(system, found, outcome.claimed)
  return outcome
}

/**
 * Claims with a request id. A worker repeats a request when its answer was lost or came too late. The repetition is answered with the
 * claims of the first request, as long as their runs live.
 *
 * While the first request still waits or claims, a repetition waits for its answer. If the first request died, the repetition itself claims
 * as soon as the first must be over. The runs of the dead request end with their leases, at the cost of one retry each.
 */

/** An answer is sent within this time after its claims: their inputs are read. */
const ANSWERING_MS = 1_000
/** A claim request ends within this time after its wait. */
const CLAIMING_MS = CLAIM_PATIENCE_MS + ANSWERING_MS
/** A repetition polls for the answer of the first request at this interval. */
const POLL_MS = 250
/** The record of a request: its claims, or the id of the attempt that is in progress. */
type RequestRecord = { readonly claims: readonly ClaimReference[] } | { readonly by: string }
/** How long a request may wait, and since when. */
type ClaimWait = { readonly begun: Moment; readonly ms: number }

type ClaimReference = { readonly id: string; readonly born: string; readonly fence: number }

/**
 * Calls `claim` with the time that it may wait, unless a request with the same record name has claimed already or is
 * claiming now. Then its claims are returned instead.
 */
async function claimOncePerRequest(
  system: System,
  name: string,
  waitMs: number,
  claim: (waitMs: number) => Promise<readonly Claimed[]>,
): Promise<readonly Claimed[]> {
  const wait: ClaimWait = { begun: momentOf(system.clock), ms: waitMs }
  const earlier = await earlierAnswer(system, name, wait)
  if (earlier) return earlier
  let claimed: readonly Claimed[] = []
  try {
    claimed = await claim(Math.max(0, waitMs - elapsedSince(system.clock, wait.begun)))
    return claimed
  } finally {
    await remember(system, name, claimed)
  }
}

/**
 * The claims of the earlier request with this name. Empty when that request does not end in time. Undefined when there
 * is no such request, so that this one has to claim.
 */
async function earlierAnswer(system: System, name: string, wait: ClaimWait): Promise<Claimed[] | undefined> {
  const { clock, records } = system
  const by = system.chance.ulid(clock.now())
  const overAt = wait.begun.wall + wait.ms
  for (;;) {
    const found = await records.putNew(name, { by }, Math.max(overAt, clock.now()) + CLAIMING_MS)
    // The record may be this request's own: the write was repeated because its answer was lost.
    if (found === undefined || isBy(by, found)) return undefined
    const answer = await answerOf(system, name, found, wait)
    if (answer) return stillHeld(system, answer)
  }
}

/** Waits for the claims of the earlier request. Empty when its time is over, and undefined when its record has expired. */
async function answerOf(
  { clock, records }: System,
  name: string,
  found: Json,
  { begun, ms }: ClaimWait,
): Promise<readonly ClaimReference[] | undefined> {
  for (let stored: Json | undefined = found; stored !== undefined; stored = await records.get(name)) {
    const record = stored as RequestRecord
    if ('claims' in record) return record.claims
    if (elapsedSince(clock, begun) >= ms + CLAIMING_MS) return []
    await clock.sleep(POLL_MS)
  }
  return undefined
}

function isBy(by: string, found: Json): boolean {
  const record = found as RequestRecord
  return 'by' in record && record.by === by
}

async function stillHeld(system: System, claims: readonly ClaimReference[]): Promise<Claimed[]> {
  const held = await sideBySide(claims, CONCURRENT_READS_MAX, async ({ id, born, fence }) => {
    const task = await readTask(system, id)
    const run = task?.born === born ? task.live[fence] : undefined
    return task && run ? [{ task, run }] : []
  })
  return held.flat()
}

/** Records the claims until the last lease ends. A request without claims is forgotten at once, so its id may be used again. */
async function remember(system: System, name: string, claimed: readonly Claimed[]): Promise<void> {
  const claims = claimed.map(({ task, run }) => ({ id: task.id, born: task.born, fence: run.fence }))
  const until = Math.max(system.clock.now(), ...claimed.map(({ run }) => run.leaseUntil))
  await system.records.put(name, { claims }, until).catch(error => {
    system.log.warn('the claims of a request were not recorded; a repetition will not return them', {
      name,
      error,
    })
  })
}
