/**
 * Workers that speak HTTP only: they claim tasks of types of kind `http` from the API, run the definitions' handlers in this process, and
 * report the ends. They need no access to the table and its queues, only the address of the API and the caller's credentials.
 *
 * - this file claims tasks as long as the worker has free capacity, and keeps each run
 * - `held-runs.ts` sends heartbeats and ends of all runs, in batches
 * - `end-reports.ts` decides about the reports of ends
 */

import type { DerivedBody } from '../../api/publish.ts'
import type { Claim } from '../../api/runs.ts'
import { type Client, createClient } from '../../client/client.ts'
import { isOutage } from '../../client/outage.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { newKey } from '../../client/repetition.ts'
import { CLAIM_TASKS_MAX, CLAIM_WAIT_MS_MAX } from '../../core/bounds.ts'
import { BatonError, defined, type ErrorCode, type Json } from '../../core/values/values.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { KeptRun, Published, RunContent, RunFacts, RunRules } from '../../ports/runs.ts'
import { elapsedSince, type Moment, momentOf } from '../../runtime/kernel/system.ts'
import { type RunHooks, runClaimed } from '../../runtime/run/run.ts'
import type { Engine, Worker, WorkerSettings } from '../engine.ts'
import { begin, checkedWhole, createEngine, definitionOf, safeHooks, workerOf } from '../engine.ts'
import { type Verdict, verdictOf } from './end-reports.ts'
import { createHeldRuns, type HeldRun, type HeldRuns, hasLeaseEnded } from './held-runs.ts'

export type HttpWorkerSettings = WorkerSettings<Claim> & {
  /** The client to use, with its signatures and tokens. @default a client of `url` */
  readonly client?: Client
  /** The address of the API. @default `BATON_URL`, else the local system */
  readonly url?: string
  /** How long a claim waits for work, in milliseconds; 0–20,000. A stop waits for the claim under way. @default 5,000 */
  readonly waitMs?: number
}

const DEFAULT_WAIT_MS = 5_000
const CLAIM_TYPES_MAX = 20
/** The time for a claim besides its wait, also for a client whose other calls have less. */
const CLAIM_TIMEOUT_MS = 15_000
const PAUSE_MS = 1_000

type HttpWorkerMachine = { readonly clock: Clock; readonly log: Log; readonly workerId: string }

type Serving = HttpWorkerMachine & {
  readonly engine: Engine
  readonly client: Client
  readonly held: HeldRuns
  readonly hooks: RunHooks<Claim>
  readonly claim: ReturnType<typeof repeatedClaims>
}

/**
 * Creates a worker that serves its types over HTTP.
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, or a wrong option.
 */
export function runHttpWorker(settings: HttpWorkerSettings, machine: HttpWorkerMachine): Worker {
  const { waitMs = DEFAULT_WAIT_MS, version, url } = settings
  checkedWhole('waitMs', waitMs, 0, CLAIM_WAIT_MS_MAX)
  const engine = createEngine(settings, machine.workerId)
  const client = settings.client ?? createClient(defined({ url }))
  const serving: Serving = {
    ...{ ...machine, engine, client },
    held: createHeldRuns({ ...machine, client }),
    hooks: safeHooks(settings, machine.log, engine.aborting.signal),
    claim: repeatedClaims(client, machine.clock, {
      workerId: engine.workerId,
      ...defined({ workerVersion: version }),
    }),
  }
  return workerOf(engine, { receive: () => receiveClaims(serving, waitMs) }, machine.clock)
}

/** Claims tasks as long as there is free capacity, of up to 20 types at a time, in turns. */
async function receiveClaims(serving: Serving, waitMs: number): Promise<void> {
  const { engine, clock, log, hooks } = serving
  const draining = engine.draining.signal
  const all = [...engine.tasks.keys()]
  const turns = Math.ceil(all.length / CLAIM_TYPES_MAX)
  for (let turn = 0; !draining.aborted; turn = (turn + 1) % turns) {
    const types = all.slice(turn * CLAIM_TYPES_MAX, (turn + 1) * CLAIM_TYPES_MAX)
    const pauseMs = await claimOnce(serving, types, Math.floor(waitMs / turns)).catch(error => {
      log.error('tasks could not be claimed', { types, error })
      void hooks.onError({ error })
      return PAUSE_MS
    })
    if (pauseMs > 0) await clock.sleep(pauseMs, draining)
  }
}

/** Claims as many tasks as the capacity allows, and begins their runs. Returns how long the API lets the worker pause. */
async function claimOnce(serving: Serving, types: string[], waitMs: number): Promise<number> {
  const { engine, claim } = serving
  const limit = await engine.capacity.takeUpTo(CLAIM_TASKS_MAX, engine.draining.signal)
  if (limit === 0) return 0
  let begun = 0
  try {
    const { claims, retryAfterMs = 0, since } = await claim({ types, limit, waitMs })
    if (engine.draining.signal.aborted) await giveBack(serving, claims)
    else begun = claims.length
    for (const one of claims.slice(0, begun)) begin(engine, serveClaim(serving, one, since))
    return retryAfterMs
  } finally {
    engine.capacity.release(limit - begun)
  }
}

/** Runs a claimed task to its end. Never throws. */
async function serveClaim(
  { engine, hooks, ...serving }: Serving,
  claim: Claim,
  since: Moment,
): Promise<void> {
  try {
    const definition = definitionOf(engine, claim.task.stepType ?? claim.task.type)
    const kept = keepOverHttp(serving, claim, since)
    await runClaimed(serving, kept, { definition, hooks, aborting: engine.aborting.signal })
  } catch (error) {
    serving.log.error('the end of a run was not reported; the run ends with its lease', {
      ...{ taskId: claim.task.id, runId: claim.run.id, error },
    })
    await hooks.onError({ ...claim, error })
  }
}

/**
 * Sends claims. A claim whose answer was lost is sent with the same `requestId` at the next turn of its types, and the API answers it with
 * the same claims. So a lost answer costs no retry. `since` is a moment before the claim was sent first.
 */
function repeatedClaims(
  client: Client,
  clock: Clock,
  claimer: { readonly workerId: string; readonly workerVersion?: string },
) {
  const unanswered = new Map<string, { readonly requestId: string; readonly since: Moment }>()
  return async (request: { readonly types: string[]; readonly limit: number; readonly waitMs: number }) => {
    const name = request.types.join()
    const sent = unanswered.get(name) ?? { requestId: newKey(), since: momentOf(clock) }
    unanswered.set(name, sent)
    const call = { timeoutMs: request.waitMs + CLAIM_TIMEOUT_MS }
    const answer = await client.claim({ ...request, ...claimer, requestId: sent.requestId }, call)
    unanswered.delete(name)
    return { ...answer, since: sent.since }
  }
}

/** Releases what a claim brought after the worker was stopped. A run that is not released ends with its lease. Never throws. */
async function giveBack({ client, log, hooks }: Serving, claims: readonly Claim[]): Promise<void> {
  const runs = claims.map(({ task, run }) => ({
    ...{ taskId: task.id, runId: run.id, fence: run.fence },
    outcome: 'release' as const,
  }))
  if (runs.length === 0) return
  try {
    for (const { taskId, runId, status, problem } of await client.finishMany(runs)) {
      if (NOT_HELD.has(verdictOf(status))) continue
      const about = { taskId, runId, status, detail: problem?.detail }
      log.error('a claimed task was not given back; its run ends with its lease', about)
    }
  } catch (error) {
    const taskIds = runs.map(({ taskId }) => taskId)
    log.error('claimed tasks were not given back; their runs end with their leases', { taskIds, error })
    void hooks.onError({ error })
  }
}

/** What the API says of a run that its worker holds no longer. */
const NOT_HELD: ReadonlySet<Verdict> = new Set<Verdict>(['accepted', 'gone'])

/** Keeps a claimed run by requests to the API. `claimSince` is a moment before its claim was sent first. */
export function keepOverHttp(
  { client, held, clock }: { readonly client: Client; readonly held: HeldRuns; readonly clock: Clock },
  claim: Claim,
  claimSince: Moment,
): KeptRun<Claim> {
  const { task, run } = claim
  const { heartbeatMs, leaseMs } = task.options
  const mine: HeldRun = {
    ...{ taskId: task.id, runId: run.id, fence: run.fence, heartbeatMs, leaseMs },
    ...{ leaseSince: leaseSinceOf(claim, claimSince, clock), beatAt: 0 },
  }
  return {
    claim,
    facts: factsOf(claim),
    rules: rulesOf(claim, clock),
    hold: async lose => held.hold(mine, lose),
    hasLeaseEnded: () => hasLeaseEnded(clock, mine),
    content: () => contentOf(task, client),
    record: progress => {
      mine.progress = progress
    },
    follow: newestLines => {
      if (task.options.liveLog) mine.newestLines = newestLines
    },
    publish: publication => publish(client, { ...defined({ userId: task.userId }), ...publication }),
    finish: outcome => held.finish(mine, outcome),
    forget: () => held.forget(mine),
  }
}

/**
 * When the lease began. A repeated claim returns leases that began before its answer. The clocks of the worker and the API may differ, but
 * no lease began before the claim was sent first.
 */
function leaseSinceOf({ task, run }: Claim, claimSince: Moment, clock: Clock): Moment {
  const { wall, monotonic } = momentOf(clock)
  const ageMs = wall - (Date.parse(run.leaseUntil) - task.options.leaseMs)
  const passedMs = Math.max(0, Math.min(ageMs, elapsedSince(clock, claimSince)))
  return { wall: wall - passedMs, monotonic: monotonic - passedMs }
}

function factsOf({ task, run }: Claim): RunFacts {
  const { stage, step, direction } = task
  return {
    taskId: task.id,
    runId: run.id,
    type: task.type,
    key: task.key,
    attempt: task.attempts.used,
    fence: run.fence,
    idempotencyKey: run.idempotencyKey,
    ...defined({ stage, step, direction }),
  }
}

/** The timeout counts from now by the worker's own clock. The API itself ends the run at the task's deadline. */
function rulesOf({ task: { options } }: Claim, clock: Clock): RunRules {
  const { timeoutMs, retry } = options
  return {
    localRetries: retry.localRetries,
    ...(timeoutMs !== undefined && { timeoutMs, timeoutAt: clock.now() + timeoutMs }),
  }
}

/** The content of the task. A long list comes in pages, and a long input is in the flow's parameters. */
async function contentOf(task: Claim['task'], client: Client): Promise<RunContent> {
  const { params } = task
  const input = task.inputIsParams ? (params as Json) : task.input
  if (!task.previousPaged) return defined({ input, params, previous: task.previous })
  const previous = await allPrevious(task.id, client)
  return defined({ input: Array.isArray(input) ? [...input, ...previous] : input, params, previous })
}

async function allPrevious(id: string, client: Client): Promise<Json[]> {
  const previous: Json[] = []
  try {
    for await (const one of client.allPrevious(id)) previous.push(one)
    return previous
  } catch (error) {
    throw isOutage(error) ? new BatonError('unavailable', error.message, { cause: error }) : error
  }
}

const CODES: Partial<Record<string, ErrorCode>> = {
  invalid: 'invalid',
  'unknown-type': 'unknown-type',
  'too-large': 'too-large',
  conflict: 'refused',
}

async function publish(client: Client, body: DerivedBody): Promise<Published> {
  try {
    const { id, created } = await client.publish(body)
    return { id, created }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { errors: problems = [] } = error.problem
    throw new BatonError(CODES[error.code] ?? 'unavailable', error.message, { cause: error, problems })
  }
}
