import type { Claimer } from '../core/claim.ts'
import { MAX_CLAIM_WAIT_MS } from '../core/limits.ts'
import type { TaskType } from '../core/task-type.ts'
import type { HttpWorkers } from './announce-http-workers.ts'
import { claimReady } from './claim-ready.ts'
import type { Claimed } from './claim-task.ts'
import { type HeldTask, heldTasks } from './held-task.ts'
import { sideBySide } from './side-by-side.ts'
import type { System } from './system.ts'
import { clearClaimed, findTargets } from './targets.ts'

export type ClaimsRequest = {
  readonly types: readonly string[]
  readonly claimer: Claimer
  readonly limit: number
  /** Names this request: repeated within a lease, it is answered with what it claimed the first time. */
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

/** Waiting looks again after so long at first, then ever later, each time by chance a little sooner. */
const FIRST_POLL_MS = 150
const LAST_POLL_MS = 1_000
const POLL_GROWTH = 1.5
const POLL_JITTER = 0.5
const MOST_READS_AT_ONCE = 25

/** Claims tasks for a worker that speaks HTTP, with their inputs. Paused types yield nothing. */
export async function claimOverHttp(
  system: System,
  request: ClaimsRequest,
  workers: HttpWorkers,
): Promise<ClaimsAnswer> {
  const types = await readTypes(system, request.types)
  if (!Array.isArray(types)) return types
  const repeated = await repeatedAnswer(system, request)
  if (repeated) return { ok: true, claims: repeated }
  const claimed = await claimOrWait(system, types, request, workers)
  if (request.requestId !== undefined && claimed.length > 0) await remember(system, request, claimed)
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
  { claimer, limit, waitMs = 0 }: ClaimsRequest,
  workers: HttpWorkers,
): Promise<Claimed[]> {
  const until = system.clock.now() + Math.min(waitMs, MAX_CLAIM_WAIT_MS)
  let serving = types.filter(type => !type.paused)
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * POLL_GROWTH, LAST_POLL_MS)) {
    await workers.seen(
      claimer,
      types.map(({ type }) => type),
    )
    const claimed = serving.length > 0 ? await claimOnce(system, serving, claimer, limit) : []
    const left = until - system.clock.now()
    if (claimed.length > 0 || left <= 0) return claimed
    await system.clock.sleep(Math.min(left, pause * (1 - POLL_JITTER * system.chance.fraction())))
    const current = await sideBySide(types, MOST_READS_AT_ONCE, ({ type }) => system.types.get(type))
    serving = current.filter(type => type !== undefined && !type.paused) as TaskType[]
  }
}

async function claimOnce(
  system: System,
  types: readonly TaskType[],
  claimer: Claimer,
  limit: number,
): Promise<Claimed[]> {
  const names = types.map(({ type }) => type)
  const targets = await findTargets(system, claimer, names)
  const candidates = targets.map(({ task }) => task)
  const claimed = await claimReady(system, types, claimer, limit, candidates)
  await clearClaimed(system, targets, claimed)
  return claimed
}

type Remembered = {
  readonly claims: ReadonlyArray<{ readonly id: string; readonly born: string; readonly fence: number }>
  readonly until: number
}

/** The claims that this very request was answered with and that still hold; undefined when it comes for the first time. */
async function repeatedAnswer(system: System, request: ClaimsRequest): Promise<HeldTask[] | undefined> {
  if (request.requestId === undefined) return undefined
  const record = (await system.records.get(recordName(request))) as Remembered | undefined
  if (!record || record.until <= system.clock.now()) return undefined
  const claimed = await sideBySide(record.claims, MOST_READS_AT_ONCE, async ({ id, born, fence }) => {
    const task = await system.tasks.head(id)
    const run = task?.born === born ? task.live[fence] : undefined
    return task && run ? [{ task, run }] : []
  })
  return heldTasks(system, claimed.flat())
}

async function remember(system: System, request: ClaimsRequest, claimed: readonly Claimed[]): Promise<void> {
  const claims = claimed.map(({ task, run }) => ({ id: task.id, born: task.born, fence: run.fence }))
  const until = Math.max(...claimed.map(({ run }) => run.leaseUntil))
  await system.records.put(recordName(request), { claims, until }, until).catch(error => {
    system.log.warn('claims will not be repeated', { requestId: request.requestId, error })
  })
}

function recordName({ claimer, requestId }: ClaimsRequest): string {
  return `claims#${JSON.stringify([claimer.workerId, requestId])}`
}
