import { CLAIM_PATIENCE_MS } from '../../core/bounds.ts'
import type { Json } from '../../core/json.ts'
import { elapsedSince, type Moment, momentOf } from '../kernel/moment.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import type { Claimed } from './claim.ts'

/**
 * Claims with a request id: repeated, because the answer was lost or did not come in time, such a request is answered
 * with what it claimed the first time, as long as those runs live. While the first is still waiting or claiming, a
 * repetition waits for its answer. If the first died on the way, the repetition claims by itself once the first must be
 * over; what the first had claimed by then is lost with its leases, at the cost of a retry each.
 */

/** What was claimed is answered within so long: its inputs are read. */
const ANSWERING_MS = 1_000
/** Beyond its wait, a claim is over within so long. */
const CLAIMING_MS = CLAIM_PATIENCE_MS + ANSWERING_MS
/** A repetition looks for the first one's answer so often. */
const POLL_MS = 250
const MOST_READS_AT_ONCE = 25

/** What a claim came to, by name, or by whom it is under way. */
type Remembered = { readonly claims: readonly ClaimReference[] } | { readonly by: string }
/** How long a request may wait, and since when. */
type ClaimWait = { readonly begun: Moment; readonly ms: number }

type ClaimReference = { readonly id: string; readonly born: string; readonly fence: number }

/** Claims by `claim`, which gets how long it may wait, unless a request of this name has done so or is doing so. */
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

/** What the earlier request of this name claimed, nothing if that is not over in time; undefined: there is none. */
async function earlierAnswer(system: System, name: string, wait: ClaimWait): Promise<Claimed[] | undefined> {
  const { clock, records } = system
  const by = system.chance.ulid(clock.now())
  const overAt = wait.begun.wall + wait.ms
  for (;;) {
    const found = await records.putNew(name, { by }, Math.max(overAt, clock.now()) + CLAIMING_MS)
    // Its own: the write was repeated because its answer was lost.
    if (found === undefined || isBy(by, found)) return undefined
    const answer = await answerOf(system, name, found, wait)
    if (answer) return stillHeld(system, answer)
  }
}

/** The answer that stands or comes to stand under the name; none when its time is over; undefined when it is gone. */
async function answerOf(
  { clock, records }: System,
  name: string,
  found: Json,
  { begun, ms }: ClaimWait,
): Promise<readonly ClaimReference[] | undefined> {
  for (let present: Json | undefined = found; present !== undefined; present = await records.get(name)) {
    const remembered = present as Remembered
    if ('claims' in remembered) return remembered.claims
    if (elapsedSince(clock, begun) >= ms + CLAIMING_MS) return []
    await clock.sleep(POLL_MS)
  }
  return undefined
}

function isBy(by: string, found: Json): boolean {
  const remembered = found as Remembered
  return 'by' in remembered && remembered.by === by
}

async function stillHeld(system: System, claims: readonly ClaimReference[]): Promise<Claimed[]> {
  const held = await sideBySide(claims, MOST_READS_AT_ONCE, async ({ id, born, fence }) => {
    const task = await system.tasks.head(id)
    const run = task?.born === born ? task.live[fence] : undefined
    return task && run ? [{ task, run }] : []
  })
  return held.flat()
}

/** A request that came to nothing is forgotten at once: its name may be used again. */
async function remember(system: System, name: string, claimed: readonly Claimed[]): Promise<void> {
  const claims = claimed.map(({ task, run }) => ({ id: task.id, born: task.born, fence: run.fence }))
  const until = Math.max(system.clock.now(), ...claimed.map(({ run }) => run.leaseUntil))
  await system.records.put(name, { claims }, until).catch(error => {
    system.log.warn('claims will not be repeated', { name, error })
  })
}
