import type { Claimer } from '../core/claim.ts'
import { MAX_CLAIM_WAIT_MS } from '../core/limits.ts'
import type { TaskType } from '../core/task-type.ts'
import type { HttpWorkers } from './announce-http-workers.ts'
import { type ClaimedOrHeld, claimReady } from './claim-ready.ts'
import type { Claimed } from './claim-task.ts'
import { type HeldTask, heldTasks } from './held-task.ts'
import { elapsedSince, momentOf } from './moment.ts'
import { claimOnceByName } from './named-claims.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { clearClaimed, findTargets } from './targets.ts'

export type ClaimsRequest = {
  readonly types: readonly string[]
  readonly claimer: Claimer
  readonly limit: number
  /** Names this request: repeated, it is answered with what it claimed the first time, as long as those runs live. */
  readonly requestId?: string
  /** How long to wait for something to claim. */
  readonly waitMs?: number
}

export type ClaimsAnswer =
  | { readonly ok: true; readonly claims: readonly HeldTask[] }
  | {
      readonly ok: false
      readonly reason: 'unknown-type'
      readonly type: string
      readonly existing: string[]
    }
  | { readonly ok: false; readonly reason: 'not-http'; readonly type: TaskType }

/**
 * Waiting looks again when a rate limit may let somebody begin; else after so long at first, then ever later, each time by chance
 * a little sooner.
 */
const FIRST_POLL_MS = 150
const LAST_POLL_MS = 1_000
const POLL_GROWTH = 1.5
const POLL_JITTER = 0.5
/** Many may wait for the same start. */
const START_JITTER_MS = 50
const MOST_READS_AT_ONCE = 25

/** Claims tasks for a worker that speaks HTTP, with their inputs. Paused types yield nothing. */
export async function claimOverHttp(
  system: System,
  request: ClaimsRequest,
  workers: HttpWorkers,
): Promise<ClaimsAnswer> {
  const types = await readTypes(system, request.types)
  if (!Array.isArray(types)) return types
  const { claimer, requestId, waitMs = 0 } = request
  const mayWaitMs = Math.min(waitMs, MAX_CLAIM_WAIT_MS)
  const claim = (ms: number) => claimOrWait(system, types, { ...request, waitMs: ms }, workers)
  const claimed =
    requestId === undefined
      ? await claim(mayWaitMs)
      : await claimOnceByName(system, recordName(claimer, requestId), mayWaitMs, claim)
  return { ok: true, claims: await heldTasks(system, claimed) }
}

async function readTypes(
  system: System,
  names: readonly string[],
): Promise<TaskType[] | Extract<ClaimsAnswer, { ok: false }>> {
  const types: TaskType[] = []
  for (const name of new Set(names)) {
    const type = await system.types.get(name)
    if (!type) return unknownType(system, name)
    if (type.configuration.kind !== 'http') return { ok: false, reason: 'not-http', type }
    types.push(type)
  }
  return types
}

async function unknownType(system: System, type: string): Promise<Extract<ClaimsAnswer, { ok: false }>> {
  const existing = (await system.types.list()).map(known => known.type).sort()
  return { ok: false, reason: 'unknown-type', type, existing }
}

async function claimOrWait(
  system: System,
  types: readonly TaskType[],
  { claimer, limit, waitMs }: ClaimsRequest & { readonly waitMs: number },
  workers: HttpWorkers,
): Promise<Claimed[]> {
  const begun = momentOf(system.clock)
  let serving = types.filter(type => !type.paused)
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * POLL_GROWTH, LAST_POLL_MS)) {
    await workers.seen(
      claimer,
      types.map(({ type }) => type),
    )
    const { claimed, nextStart } =
      serving.length > 0 ? await claimOnce(system, serving, claimer, limit) : NONE
    const now = system.clock.now()
    const leftMs = waitMs - elapsedSince(system.clock, begun)
    if (claimed.length > 0 || leftMs <= 0) return claimed
    const by = system.chance.fraction()
    const isSoon = nextStart <= now + LAST_POLL_MS
    const wait = isSoon ? nextStart - now + START_JITTER_MS * by : pause * (1 - POLL_JITTER * by)
    await system.clock.sleep(Math.min(leftMs, Math.max(1, wait)))
    const current = await sideBySide(types, MOST_READS_AT_ONCE, ({ type }) => system.types.get(type))
    serving = current.filter(type => type !== undefined && !type.paused) as TaskType[]
  }
}

const NONE: Pick<ClaimedOrHeld, 'claimed' | 'nextStart'> = {
  claimed: [],
  nextStart: Number.POSITIVE_INFINITY,
}

async function claimOnce(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  wanted: number,
): Promise<Pick<ClaimedOrHeld, 'claimed' | 'nextStart'>> {
  const names = types.map(({ type }) => type)
  const found = await findTargets(system, claimer, names)
  const targets = found.map(({ task }) => task)
  const outcome = await claimReady(system, types, claimer, { wanted, targets })
  await clearClaimed(system, found, outcome.claimed)
  return outcome
}

function recordName({ workerId }: Claimer, requestId: string): string {
  return `claims#${JSON.stringify([workerId, requestId])}`
}
