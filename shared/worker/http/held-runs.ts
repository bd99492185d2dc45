import type { FinishMember } from '../../api/runs.ts'
import type { Client } from '../../client/client.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { RunEnd, RunLost } from '../../ports/runs.ts'
import { elapsedSince, type Moment, momentOf } from '../../runtime/kernel/moment.ts'

/**
 * Keeps the runs of a worker alive and reports their ends, in batches. One loop sends the heartbeats that are due; an end is sent as soon as
 * no batch of ends is under way. A run is kept alive until its end is accepted. Both are repeated during an outage, until the lease ends.
 */

/** A run that this worker holds. */
type HeldRun = {
  readonly taskId: string
  readonly runId: string
  readonly fence: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  /** Aborts the handler. The API has said that the run is over, or the lease has ended without an answer. */
  lose(why: RunLost): void
}

export type HeldRuns = {
  hold(run: HeldRun): void
  hasLeaseEnded(runId: string): boolean
  /** Sends the progress with the next heartbeat. */
  record(runId: string, progress: Json): void
  /**
   * Reports the end of a run. Returns the outcome that the API has accepted, or `stopped` when it has refused the report.
   *
   * @throws BatonError `unavailable` when the lease has ended before.
   */
  finish(runId: string, outcome: Outcome): Promise<RunEnd>
}

/** A held run with its next heartbeat, in monotonic time, and with what is to be reported. */
type Entry = HeldRun & {
  beatAt: number
  heartbeatMs: number
  /** A moment before the lease was asked for last. */
  leaseSince: Moment
  progress?: Json
  end?: End
}

type End = PromiseWithResolvers<RunEnd> & { outcome: Outcome }

type Held = {
  readonly client: Pick<Client, 'heartbeatMany' | 'finishMany'>
  readonly clock: Clock
  readonly log: Log
  readonly entries: Map<string, Entry>
}

/** The first heartbeat is sent after this time at the latest, so that lists show a run as running within two seconds. */
const FIRST_BEAT_MS = 1_500
/** The share of a lease that may pass between two heartbeats, so that one late heartbeat costs no run. */
const BEAT_SHARE_MAX = 2 / 3
const TICK_MS = 250
/** A heartbeat without an answer after this time is given up, so that the next one may still renew the lease. */
const BEAT_TIMEOUT_MS = 5_000
const BATCH_RUNS_MAX = 100
/** Results of 350 KB each: as many of them as fit the API's 4 MB. */
const LARGE_RUNS_MAX = 10
const LARGE_CHARACTERS = 32_768

export function createHeldRuns(tools: Omit<Held, 'entries'>): HeldRuns {
  const held: Held = { ...tools, entries: new Map() }
  const { clock, entries } = held
  const beat = oneLoop(
    () => entries.size > 0,
    () => beatOnce(held),
  )
  const sendEnds = oneLoop(
    () => endedIn(held).length > 0,
    () => sendBatch(held),
  )
  return {
    hold: run => {
      const now = clock.monotonic()
      const beatAt = now + Math.min(FIRST_BEAT_MS, intervalOf(run))
      entries.set(run.runId, { ...run, beatAt, leaseSince: momentOf(clock) })
      beat()
    },
    hasLeaseEnded: runId => {
      const entry = entries.get(runId)
      return entry !== undefined && hasLeaseEnded(held, entry)
    },
    record: (runId, progress) => {
      const entry = entries.get(runId)
      if (entry) entry.progress = progress
    },
    finish: async (runId, outcome) => {
      const entry = entries.get(runId)
      if (!entry) return stopped('ended')
      entry.end = { ...Promise.withResolvers<RunEnd>(), outcome }
      sendEnds()
      return entry.end.promise
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

function intervalOf({ heartbeatMs, leaseMs }: Pick<HeldRun, 'heartbeatMs' | 'leaseMs'>): number {
  return Math.min(heartbeatMs, Math.floor(leaseMs * BEAT_SHARE_MAX))
}

function hasLeaseEnded({ clock }: Held, { leaseSince, leaseMs }: Entry): boolean {
  return elapsedSince(clock, leaseSince) >= leaseMs
}

/** The run is lost: its handler stops, and its end is not reported. */
function lose({ entries }: Held, entry: Entry, why: RunLost): void {
  entries.delete(entry.runId)
  entry.lose(why)
  const message = `the API did not accept the end of run ${entry.runId} of ${entry.taskId} before its lease ended`
  entry.end?.reject(new BatonError('unavailable', message))
}

function stopped(why: RunLost): RunEnd {
  return { outcome: 'stopped', why }
}

async function beatOnce(held: Held): Promise<void> {
  const { entries, clock, log } = held
  const now = clock.monotonic()
  for (const entry of entries.values()) if (hasLeaseEnded(held, entry)) lose(held, entry, 'storage')
  const due = [...entries.values()].filter(({ beatAt }) => beatAt <= now).slice(0, BATCH_RUNS_MAX)
  for (const entry of due) entry.beatAt = now + intervalOf(entry)
  if (due.length > 0) {
    await sendBeats(held, due).catch(error => log.warn('heartbeats failed', { error }))
  }
  await clock.sleep(TICK_MS)
}

async function sendBeats(held: Held, due: readonly Entry[]): Promise<void> {
  const since = momentOf(held.clock)
  const runs = due.map(({ taskId, runId, fence, progress }) => ({
    ...{ taskId, runId, fence },
    ...(progress !== undefined && { progress }),
  }))
  const results = await held.client.heartbeatMany(runs, { tries: 1, timeoutMs: BEAT_TIMEOUT_MS })
  for (const [index, entry] of due.entries()) {
    const { status, reason, options } = results[index] ?? { status: 0 }
    // The answer to a report of the end says what became of the run. A heartbeat may overtake it.
    if ((status === 409 || status === 404) && !entry.end) lose(held, entry, reason ?? 'removed')
    if (status === 200) renew(entry, since, runs[index]?.progress, options?.heartbeatMs)
  }
}

function renew(entry: Entry, since: Moment, sent: Json | undefined, heartbeatMs = entry.heartbeatMs): void {
  entry.leaseSince = since
  entry.heartbeatMs = heartbeatMs
  if (entry.progress === sent) delete entry.progress
}

/** Sends one batch of ends, and pauses if it could not be delivered. */
async function sendBatch(held: Held): Promise<void> {
  const ended = endedIn(held)
  const isLarge = ended.some(({ end }) => JSON.stringify(end.outcome).length > LARGE_CHARACTERS)
  const batch = ended.slice(0, isLarge ? LARGE_RUNS_MAX : BATCH_RUNS_MAX)
  await sendEnds(held, batch).catch(error => held.log.warn('ends of runs were not reported', { error }))
  if (batch.every(({ runId }) => held.entries.has(runId))) await held.clock.sleep(TICK_MS)
}

type Ended = Entry & { readonly end: End }

function endedIn({ entries }: Held): Ended[] {
  return [...entries.values()].filter((entry): entry is Ended => entry.end !== undefined)
}

async function sendEnds({ client, log, entries }: Held, batch: readonly Ended[]): Promise<void> {
  const members = batch.map(
    ({ taskId, runId, fence, end }) => ({ taskId, runId, fence, ...end.outcome }) as FinishMember,
  )
  const results = await client.finishMany(members)
  for (const [index, { taskId, runId, end }] of batch.entries()) {
    const { status, problem, reason = 'ended' } = results[index] ?? { status: 0 }
    if (isForLater(status)) continue
    if (isRefusedResult(status) && end.outcome.outcome === 'succeed') {
      end.outcome = invalidResult(problem?.detail ?? `the API refuses the result with status ${status}`)
      continue
    }
    entries.delete(runId)
    end.resolve(status === 200 ? end.outcome : stopped(reason))
    if (status !== 200) log.warn('the end of a run was refused', { taskId, runId, status, reason })
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
