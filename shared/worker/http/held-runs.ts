import type { RunResult } from '../../api/runs.ts'
import type { Client } from '../../client/client.ts'
import { isProblem } from '../../client/outage.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { BATCH_TASKS_MAX } from '../../core/bounds.ts'
import { FIRST_BEAT_MS_MAX, intervalMs } from '../../core/run/lease.ts'
import type { Outcome } from '../../core/run/run.ts'
import { type Deferred, deferred } from '../../core/values/deferred.ts'
import { BatonError, defined, type Json } from '../../core/values/values.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { RunEnd, RunLost } from '../../ports/runs.ts'
import { elapsedSince, type Moment, momentOf } from '../../runtime/kernel/system.ts'
import { correctedEnd, countInBatch, type EndReport, endReport, isIllegal, verdictOf } from './end-reports.ts'

/**
 * Keeps the runs of a worker alive and reports their ends, in batches. One loop sends the heartbeats that are due; an end is sent as soon as
 * no batch of ends is under way. A run is kept alive until its end is accepted, or until it is forgotten. Both are repeated during an
 * outage, until the lease ends.
 *
 * A batch that is refused as a whole has a member that is illegal or too large. Its members are then sent one by one, so that the member
 * holds up no other. `end-reports.ts` decides what becomes of it.
 */

/** A run that this worker holds, with its next heartbeat, its lease, and what it has to report. */
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
  /** What the next heartbeat stores. */
  progress?: Json | undefined
  newestLines?(): string | undefined
  end?: PendingEnd
}

/** The end of a run that the API has not accepted yet. */
type PendingEnd = Deferred<RunEnd> & {
  report: EndReport
  /** When the report was sent last, or else when the run ended, by the monotonic clock. The earliest is sent first. */
  waitsSince: number
  /** Why the last try failed. */
  refusal?: unknown
}

export type HeldRuns = {
  /** Keeps the run alive from now on. Calls `lose` when the API has said that it is over, or its lease has ended without an answer. */
  hold(run: HeldRun, lose: Lose): void
  /**
   * Reports the end of a run. Returns the outcome that the API has accepted, or `stopped` when the run was gone.
   *
   * @throws BatonError `unavailable` when the lease has ended before; `refused` when the API accepts no report of the run.
   */
  finish(run: HeldRun, outcome: Outcome): Promise<RunEnd>
  /** Keeps the run alive no longer, and reports nothing of it. */
  forget(run: HeldRun): void
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
      const waitsSince = held.clock.monotonic()
      run.end = { ...deferred<RunEnd>(), report: endReport(run, outcome), waitsSince }
      sendEnds()
      return run.end.promise
    },
    forget: run => void held.runs.delete(run),
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
  run.end?.reject(new BatonError('unavailable', message, defined({ cause: run.end.refusal })))
}

async function beatOnce(held: Held): Promise<void> {
  const { runs, clock, log } = held
  const now = clock.monotonic()
  for (const run of runs.keys()) if (hasLeaseEnded(clock, run)) lose(held, run, 'storage')
  const due = [...runs.keys()].filter(({ beatAt }) => beatAt <= now).slice(0, BATCH_TASKS_MAX)
  for (const run of due) run.beatAt = now + intervalMs(run)
  if (due.length > 0) await sendBeats(held, due).catch(error => log.warn('heartbeats failed', { error }))
  const nextAt = Math.min(...[...runs.keys()].map(({ beatAt }) => beatAt))
  await clock.sleep(Math.min(TICK_MS, nextAt - clock.monotonic()))
}

async function sendBeats(held: Held, due: readonly HeldRun[]): Promise<void> {
  const since = momentOf(held.clock)
  const beats = due.map(({ taskId, runId, fence, progress, newestLines }) => ({
    ...{ taskId, runId, fence },
    ...defined({ progress, log: newestLines?.() }),
  }))
  for (const run of due) run.progress = undefined
  const call = { tries: 1, timeoutMs: BEAT_TIMEOUT_MS }
  const results = await held.client.heartbeatMany(beats, call).catch((error: unknown) => {
    for (const [index, run] of due.entries()) restoreProgress(run, beats[index]?.progress)
    throw error
  })
  for (const [index, run] of due.entries()) {
    const { status, reason = 'removed', options } = results[index] ?? { status: 0 }
    const verdict = verdictOf(status)
    if (verdict === 'later') restoreProgress(run, beats[index]?.progress)
    // The answer to a report of the end says what became of the run. A heartbeat may overtake it.
    if (verdict === 'gone' && !run.end) lose(held, run, reason)
    if (verdict !== 'accepted') continue
    run.leaseSince = since
    run.heartbeatMs = options?.heartbeatMs ?? run.heartbeatMs
    run.beatAt = since.monotonic + intervalMs(run)
  }
}

/** The next heartbeat stores the progress, unless the handler has recorded a newer one. */
function restoreProgress(run: HeldRun, progress: Json | undefined): void {
  if (run.progress === undefined) run.progress = progress
}

type EndedRun = HeldRun & { readonly end: PendingEnd }

function endedIn({ runs }: Held): EndedRun[] {
  return [...runs.keys()].filter((run): run is EndedRun => run.end !== undefined)
}

/** Sends one batch of ends, and pauses if it could not be delivered. */
async function sendBatch(held: Held): Promise<void> {
  const ended = endedIn(held).sort((a, b) => a.end.waitsSince - b.end.waitsSince)
  const batch = ended.slice(0, countInBatch(ended.map(({ end }) => end.report)))
  await sendEnds(held, batch).catch(error => {
    for (const { end } of batch) end.refusal = error
    held.log.warn('ends of runs were not reported', { error })
  })
  const now = held.clock.monotonic()
  for (const { end } of batch) end.waitsSince = now
  if (batch.every(run => held.runs.has(run))) await held.clock.sleep(TICK_MS)
}

async function sendEnds(held: Held, batch: readonly EndedRun[]): Promise<void> {
  try {
    const results = await held.client.finishMany(batch.map(({ end }) => end.report.member))
    for (const [index, run] of batch.entries()) takeResult(held, run, results[index])
  } catch (error) {
    if (!isProblem(error) || !isIllegal(error.status)) throw error
    await sendApart(held, batch, error)
  }
}

/** A batch was refused as a whole. Its members are sent one by one, and the refusal of a single one counts as its result. */
async function sendApart(held: Held, batch: readonly EndedRun[], refusal: EndResult): Promise<void> {
  const [first, ...others] = batch
  if (first && others.length === 0) return takeResult(held, first, refusal)
  for (const run of batch) if (held.runs.has(run)) await sendEnds(held, [run])
}

type EndResult = Pick<RunResult, 'status' | 'reason' | 'problem'>

const NO_RESULT: EndResult = { status: 0 }

function takeResult({ runs, log }: Held, run: EndedRun, result = NO_RESULT): void {
  const { taskId, runId, end } = run
  const { status, problem, reason: why = 'ended' } = result
  const verdict = verdictOf(status)
  const detail = problem?.detail ?? `the API answers the report with status ${status}`
  const corrected = verdict === 'illegal' ? correctedEnd(end.report.outcome, detail) : undefined
  end.refusal = problem && new ProblemError(problem)
  if (verdict !== 'accepted') log.warn('the end of a run was not accepted', { taskId, runId, status, detail })
  if (corrected) end.report = endReport(run, corrected)
  if (corrected || verdict === 'later') return
  runs.delete(run)
  if (verdict === 'accepted') end.resolve(end.report.outcome)
  else if (verdict === 'gone') end.resolve({ outcome: 'stopped', why })
  else end.reject(refused(run, detail))
}

/** The error of a run whose end the API never accepts. */
function refused({ taskId, runId, end: { refusal } }: EndedRun, detail: string): BatonError {
  const message = `the API refuses the end of run ${runId} of ${taskId}: ${detail}`
  return new BatonError('refused', message, defined({ cause: refusal }))
}
