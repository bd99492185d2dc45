import type { FinishMember } from '../../api/runs.ts'
import type { Client } from '../../client/client.ts'
import { BatonError } from '../../core/errors.ts'
import { FIRST_BEAT_MS_MAX, intervalMs } from '../../core/run/heartbeat.ts'
import type { Outcome } from '../../core/run/run.ts'
import { defined } from '../../core/values/defined.ts'
import type { Json } from '../../core/values/json.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { RunEnd, RunLost } from '../../ports/runs.ts'
import { elapsedSince, type Moment, momentOf } from '../../runtime/kernel/moment.ts'

/**
 * Keeps the runs of a worker alive and reports their ends, in batches. One loop sends the heartbeats that are due; an end is sent as soon as
 * no batch of ends is under way. A run is kept alive until its end is accepted. Both are repeated during an outage, until the lease ends.
 */

/** A run that this worker holds, with its next heartbeat, its lease, and what is to be reported. */
export type HeldRun = {
  readonly taskId: string
  readonly runId: string
  readonly fence: number
  readonly leaseMs: number
  /** A moment before the lease was asked for last. */
  leaseSince: Moment
  heartbeatMs: number
  /** When the next heartbeat is due, by the monotonic clock. */
  beatAt: number
  progress?: Json
  end?: PromiseWithResolvers<RunEnd> & { outcome: Outcome }
}

export type HeldRuns = {
  /** Keeps the run alive from now on. Calls `lose` when the API has said that it is over, or its lease has ended without an answer. */
  hold(run: HeldRun, lose: Lose): void
  /**
   * Reports the end of a run. Returns the outcome that the API has accepted, or `stopped` when it has refused the report.
   *
   * @throws BatonError `unavailable` when the lease has ended before.
   */
  finish(run: HeldRun, outcome: Outcome): Promise<RunEnd>
}

type Lose = (why: RunLost) => void

type Held = {
  readonly client: Pick<Client, 'heartbeatMany' | 'finishMany'>
  readonly clock: Clock
  readonly log: Log
  readonly runs: Map<HeldRun, Lose>
}

const TICK_MS = 250
/** A heartbeat without an answer after this time is given up, so that the next one may still renew the lease. */
const BEAT_TIMEOUT_MS = 5_000
const BATCH_RUNS_MAX = 100
/** Results of 350 KB each: as many of them as fit the API's 4 MB. */
const LARGE_RUNS_MAX = 10
const LARGE_CHARACTERS = 32_768

export function createHeldRuns(tools: Omit<Held, 'runs'>): HeldRuns {
  const held: Held = { ...tools, runs: new Map() }
  const beat = oneLoop(
    () => held.runs.size > 0,
    () => beatOnce(held),
  )
  const sendEnds = oneLoop(
    () => endedIn(held).length > 0,
    () => sendBatch(held),
  )
  return {
    hold: (run, lose) => {
      run.beatAt = held.clock.monotonic() + Math.min(FIRST_BEAT_MS_MAX, intervalMs(run))
      held.runs.set(run, lose)
      beat()
    },
    finish: async (run, outcome) => {
      if (!held.runs.has(run)) return { outcome: 'stopped', why: 'lost' }
      run.end = { ...Promise.withResolvers<RunEnd>(), outcome }
      sendEnds()
      return run.end.promise
    },
  }
}

/** Starts a loop that repeats a step while there is work, unless it runs already. */
function oneLoop(hasWork: () => boolean, step: () => Promise<void>): () => void {
  let isRunning = false
  const run = async () => {
    isRunning = true
    while (hasWork()) await step()
    isRunning = false
  }
  return () => {
    if (!isRunning) void run()
  }
}

/** Whether the lease has ended by either clock. */
export function hasLeaseEnded(clock: Clock, { leaseSince, leaseMs }: HeldRun): boolean {
  return elapsedSince(clock, leaseSince) >= leaseMs
}

/** The run is lost: its handler stops, and its end is not reported. */
function lose({ runs }: Held, run: HeldRun, why: RunLost): void {
  runs.get(run)?.(why)
  runs.delete(run)
  const message = `the API did not accept the end of run ${run.runId} of ${run.taskId} before its lease ended`
  run.end?.reject(new BatonError('unavailable', message))
}

async function beatOnce(held: Held): Promise<void> {
  const { runs, clock, log } = held
  const now = clock.monotonic()
  for (const run of runs.keys()) if (hasLeaseEnded(clock, run)) lose(held, run, 'storage')
  const due = [...runs.keys()].filter(({ beatAt }) => beatAt <= now).slice(0, BATCH_RUNS_MAX)
  for (const run of due) run.beatAt = now + intervalMs(run)
  if (due.length > 0) await sendBeats(held, due).catch(error => log.warn('heartbeats failed', { error }))
  await clock.sleep(TICK_MS)
}

async function sendBeats(held: Held, due: readonly HeldRun[]): Promise<void> {
  const since = momentOf(held.clock)
  const beats = due.map(({ taskId, runId, fence, progress }) => ({
    ...{ taskId, runId, fence },
    ...defined({ progress }),
  }))
  const results = await held.client.heartbeatMany(beats, { tries: 1, timeoutMs: BEAT_TIMEOUT_MS })
  for (const [index, run] of due.entries()) {
    const { status, reason = 'removed', options } = results[index] ?? { status: 0 }
    // The answer to a report of the end says what became of the run. A heartbeat may overtake it.
    if ((status === 409 || status === 404) && !run.end) lose(held, run, reason)
    if (status !== 200) continue
    run.leaseSince = since
    run.heartbeatMs = options?.heartbeatMs ?? run.heartbeatMs
    if (run.progress === beats[index]?.progress) delete run.progress
  }
}

type EndedRun = HeldRun & { readonly end: NonNullable<HeldRun['end']> }

function endedIn({ runs }: Held): EndedRun[] {
  return [...runs.keys()].filter((run): run is EndedRun => run.end !== undefined)
}

/** Sends one batch of ends, and pauses if it could not be delivered. */
async function sendBatch(held: Held): Promise<void> {
  const ended = endedIn(held)
  const isLarge = ended.some(({ end }) => JSON.stringify(end.outcome).length > LARGE_CHARACTERS)
  const batch = ended.slice(0, isLarge ? LARGE_RUNS_MAX : BATCH_RUNS_MAX)
  await sendEnds(held, batch).catch(error => held.log.warn('ends of runs were not reported', { error }))
  if (batch.every(run => held.runs.has(run))) await held.clock.sleep(TICK_MS)
}

async function sendEnds({ client, log, runs }: Held, batch: readonly EndedRun[]): Promise<void> {
  const members = batch.map(
    ({ taskId, runId, fence, end }) => ({ taskId, runId, fence, ...end.outcome }) as FinishMember,
  )
  const results = await client.finishMany(members)
  for (const [index, run] of batch.entries()) {
    const { taskId, runId, end } = run
    const { status, problem, reason: why = 'ended' } = results[index] ?? { status: 0 }
    if (isForLater(status)) continue
    if (isRefusedResult(status) && end.outcome.outcome === 'succeed') {
      end.outcome = invalidResult(problem?.detail ?? `the API refuses the result with status ${status}`)
      continue
    }
    runs.delete(run)
    end.resolve(status === 200 ? end.outcome : { outcome: 'stopped', why })
    if (status !== 200) log.warn('the end of a run was refused', { taskId, runId, status, reason: why })
  }
}

/** The task fails for good, because another run would have the same result. */
function invalidResult(message: string): Outcome {
  return { outcome: 'fail', fatal: true, error: { name: 'InvalidResult', message } }
}

/** Whether a later report may be accepted: the result of this one is missing, or tells of an outage. */
function isForLater(status: number): boolean {
  return status === 0 || status === 429 || status >= 500
}

function isRefusedResult(status: number): boolean {
  return status === 400 || status === 413
}
