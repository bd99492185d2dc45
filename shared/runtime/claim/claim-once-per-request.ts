import { CLAIM_PATIENCE_MS } from '../../core/bounds.ts'
import type { Json } from '../../core/values/json.ts'
import { elapsedSince, type Moment, momentOf } from '../kernel/moment.ts'
import { readTask } from '../kernel/read-heads.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import type { Claimed } from './claim.ts'

/**
 * Claims with a request id. A worker repeats a request when its answer was lost or came too late. The repetition is
 * answered with the claims of the first request, as long as their runs live.
 *
 * While the first request still waits or claims, a repetition waits for its answer. If the first request died, the
 * repetition itself claims as soon as the first must be over. The runs of the dead request end with their leases, at the
 * cost of one retry each.
 */

/** An answer is sent within this time after its claims: their inputs are read. */
const ANSWERING_MS = 1_000
/** A claim request ends within this time after its wait. */
const CLAIMING_MS = CLAIM_PATIENCE_MS + ANSWERING_MS
/** A repetition polls for the answer of the first request at this interval. */
const POLL_MS = 250
const CONCURRENT_READS_MAX = 25

/** The record of a request: its claims, or the id of the attempt that is in progress. */
type RequestRecord = { readonly claims: readonly ClaimReference[] } | { readonly by: string }
/** How long a request may wait, and since when. */
type ClaimWait = { readonly begun: Moment; readonly ms: number }

type ClaimReference = { readonly id: string; readonly born: string; readonly fence: number }

/**
 * Calls `claim` with the time that it may wait, unless a request with the same record name has claimed already or is
 * claiming now. Then its claims are returned instead.
 */
export async function claimOncePerRequest(
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

/**
 * Records the claims until the last lease ends. A request without claims is forgotten at once, so its id may be used
 * again.
 */
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
