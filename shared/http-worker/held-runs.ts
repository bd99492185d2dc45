import type { Client } from '../client/client.ts'
import type { Json } from '../core/json.ts'
import type { Outcome } from '../core/run/run.ts'
import type { Clock, Log } from '../ports/machine.ts'
import { endOf, type HeldRun, intervalOf, type RunEntry, refusedResult } from './run-entry.ts'

/**
 * Keeps the runs of a worker alive and reports their ends, in batches. One loop sends the heartbeats that are due; an end is sent as soon as
 * no batch of ends is under way. A run is kept alive until its end is accepted. Both are repeated during an outage, until the lease ends.
 */

export type HeldRuns = {
  hold(run: HeldRun): void
  /** Sends the progress with the next heartbeat. */
  report(runId: string, progress: Json): void
  /** Reports the end of a run. Resolves when the API has accepted or refused it, or the lease has ended before. */
  finish(runId: string, outcome: Outcome): Promise<void>
}

type Tools = {
  readonly client: Pick<Client, 'heartbeatMany' | 'finishMany'>
  readonly clock: Clock
  readonly log: Log
}

type Entries = Map<string, RunEntry>

/** The first heartbeat is sent after this time at the latest, so that lists show a run as running within two seconds. */
const FIRST_BEAT_MS = 1_500
const TICK_MS = 250
/** A heartbeat without an answer after this time is given up, so that the next one may still renew the lease. */
const BEAT_TIMEOUT_MS = 5_000
const BATCH_RUNS_MAX = 100
/** Results of 350 KB each: as many of them as fit the API's 4 MB. */
const LARGE_RUNS_MAX = 10
const LARGE_CHARACTERS = 32_768

export function createHeldRuns(tools: Tools): HeldRuns {
  const entries: Entries = new Map()
  const beat = oneLoop(
    () => entries.size > 0,
    () => beatOnce(entries, tools),
  )
  const sendEnds = oneLoop(
    () => endedIn(entries).length > 0,
    () => sendBatch(entries, tools),
  )
  return {
    hold: run => {
      const now = tools.clock.monotonic()
      const beatAt = now + Math.min(FIRST_BEAT_MS, intervalOf(run))
      entries.set(run.runId, { ...run, beatAt, leaseUntil: now + run.leaseMs })
      beat()
    },
    report: (runId, progress) => {
      const entry = entries.get(runId)
      if (entry) entry.progress = progress
    },
    finish: (runId, outcome) => {
      const entry = entries.get(runId)
      if (!entry) return Promise.resolve()
      return new Promise(done => {
        entry.end = { member: endOf(entry, outcome), done }
        sendEnds()
      })
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

function drop(entries: Entries, entry: RunEntry, reason?: string): void {
  entries.delete(entry.runId)
  if (reason !== undefined) entry.abort(reason)
  entry.end?.done()
}

async function beatOnce(entries: Entries, { client, clock, log }: Tools): Promise<void> {
  const now = clock.monotonic()
  for (const entry of endedLeases(entries, now)) drop(entries, entry, 'its lease has ended')
  const due = [...entries.values()].filter(({ beatAt }) => beatAt <= now).slice(0, BATCH_RUNS_MAX)
  for (const entry of due) entry.beatAt = now + intervalOf(entry)
  if (due.length > 0) {
    await sendBeats(due, entries, client, now).catch(error => log.warn('heartbeats failed', { error }))
  }
  await clock.sleep(TICK_MS)
}

/** The runs whose lease has ended without an answer. */
function endedLeases(entries: Entries, now: number): RunEntry[] {
  return [...entries.values()].filter(({ leaseUntil }) => now >= leaseUntil)
}

async function sendBeats(
  due: readonly RunEntry[],
  entries: Entries,
  client: Tools['client'],
  now: number,
): Promise<void> {
  const runs = due.map(({ taskId, runId, fence, progress }) => ({
    ...{ taskId, runId, fence },
    ...(progress !== undefined && { progress }),
  }))
  const results = await client.heartbeatMany(runs, { tries: 1, timeoutMs: BEAT_TIMEOUT_MS })
  for (const [index, entry] of due.entries()) {
    const { status, reason, options } = results[index] ?? { status: 0 }
    if (status === 409 || status === 404) drop(entries, entry, reason ?? 'removed')
    if (status === 200) renew(entry, now, runs[index]?.progress, options?.heartbeatMs)
  }
}

function renew(entry: RunEntry, at: number, sent: Json | undefined, heartbeatMs = entry.heartbeatMs): void {
  entry.leaseUntil = at + entry.leaseMs
  entry.heartbeatMs = heartbeatMs
  if (entry.progress === sent) delete entry.progress
}

/** Sends one batch of ends, and pauses if it could not be delivered. */
async function sendBatch(entries: Entries, tools: Tools): Promise<void> {
  const ended = endedIn(entries)
  const isLarge = ended.some(({ end }) => JSON.stringify(end?.member).length > LARGE_CHARACTERS)
  const batch = ended.slice(0, isLarge ? LARGE_RUNS_MAX : BATCH_RUNS_MAX)
  await sendEnds(batch, entries, tools).catch(error => {
    tools.log.warn('ends of runs were not reported', { error })
  })
  if (batch.every(({ runId }) => entries.has(runId))) await tools.clock.sleep(TICK_MS)
}

function endedIn(entries: Entries): RunEntry[] {
  return [...entries.values()].filter(({ end }) => end)
}

async function sendEnds(batch: readonly RunEntry[], entries: Entries, { client, log }: Tools): Promise<void> {
  const results = await client.finishMany(batch.flatMap(({ end }) => (end ? [end.member] : [])))
  for (const [index, entry] of batch.entries()) {
    const { status, problem, reason } = results[index] ?? { status: 0 }
    if (isForLater(status)) continue
    const { taskId, runId, end } = entry
    if (isRefusedResult(status) && end?.member.outcome === 'succeed') {
      end.member = refusedResult(entry, problem?.detail ?? `the API refuses the result with status ${status}`)
      continue
    }
    if (status !== 200) log.warn('the end of a run was refused', { taskId, runId, status, reason })
    drop(entries, entry)
  }
}

/** Whether a later report may be accepted: the result of this one is missing, or tells of an outage. */
function isForLater(status: number): boolean {
  return status === 0 || status === 429 || status >= 500
}

function isRefusedResult(status: number): boolean {
  return status === 400 || status === 413
}
