import { roomForResult } from '../../core/flow/flow.ts'
import type { Beat } from '../../core/run/lease.ts'
import { beatIntervalMs, deadlineExceeded, FIRST_BEAT_MS_MAX, heartbeat } from '../../core/run/lease.ts'
import type { Outcome, RunGone } from '../../core/run/run.ts'
import { idempotencyKey } from '../../core/task/piece.ts'
import { runId, type Task } from '../../core/task/task.ts'
import type { WebhookSettings } from '../../core/types/task-type.ts'
import { defined, isOutage, type Json } from '../../core/values/values.ts'
import type { KeptRun, RunEnd, RunFacts, RunLost, RunRules } from '../../ports/runs.ts'
import { Fatal } from '../../signals.ts'
import { BodyGone, type Claimed, contentOf, writeFinish } from '../claim/claimed-task.ts'
import { transact } from '../kernel/kernel.ts'
import { logEndFound, logFields } from '../kernel/log-run-ends.ts'
import { inRunSpan } from '../kernel/spans.ts'
import { elapsedSince, type Moment, momentOf, type System } from '../kernel/system.ts'
import { publishChild } from '../publish/publish.ts'
import { type Ran, type RunTools, runClaimed } from './run.ts'

/** A heartbeat that is in progress when the run has ended gets this long to end. */
const LAST_BEAT_MS = 1_000

/** How often a run of the local system stores its newest log lines. */
const LIVE_LOG_MS = 1_000

/** After a failed write of the end, the next try comes after this time. */
const FINISH_PAUSE_MS = 500

/** Runs a claimed task to its end, within a span of its trace. `webhook` are the settings of a type of kind `webhook`. */
export function runInTable(
  system: System,
  claimed: Claimed,
  tools: RunTools<Claimed>,
  webhook?: WebhookSettings,
): Promise<Ran> {
  return inRunSpan(claimed, traceparent =>
    runClaimed(system, keepInTable(system, { ...claimed, traceparent }, webhook), tools),
  )
}

/** A run that this process keeps in the table, as its last heartbeat has left it. */
type Held = {
  readonly system: System
  readonly fence: number
  task: Task
  lease: Lease
  /** What the next heartbeat stores. */
  progress?: Json | undefined
  newestLines(): string | undefined
}

/** A lease as this process knows it. `since` is a moment before the lease was asked for. */
type Lease = { readonly until: number; readonly since: Moment }

/**
 * Keeps a run in the table. A heartbeat that finds the run gone stops it at once. When the store fails or does not answer, the run
 * continues until the lease ends by either clock. Each heartbeat returns the task as it is stored, so a changed `heartbeatMs` applies
 * from the next heartbeat.
 */
export function keepInTable(system: System, claimed: Claimed, webhook?: WebhookSettings): KeptRun<Claimed> {
  const { task, run } = claimed
  const lease = { until: run.leaseUntil, since: momentOf(system.clock) }
  const held: Held = { system, fence: run.fence, task, lease, newestLines: () => undefined }
  return {
    claim: claimed,
    facts: factsOf(claimed, webhook),
    rules: rulesOf(claimed),
    hold: (lose, over) => hold(held, lose, over),
    hasLeaseEnded: () => leaseLeftMs(held) <= 0,
    content: () => contentOf(system, task).catch(asFatal),
    record: progress => {
      held.progress = progress
    },
    follow: newestLines => {
      held.newestLines = newestLines
    },
    publish: publication => publishChild(system, claimed, publication),
    finish: outcome => finish(held, outcome),
    // `over` stops the heartbeats.
    forget: () => {},
  }
}

function factsOf({ task, run, traceparent }: Claimed, webhook: WebhookSettings | undefined): RunFacts {
  const { flow, stage } = task
  const step = flow?.definition.steps[flow.presentStep]
  return {
    taskId: task.id,
    runId: runId(task.born, run.fence),
    type: task.type,
    key: task.key,
    attempt: task.failures + 1,
    fence: run.fence,
    idempotencyKey: idempotencyKey(task),
    ...defined({ stage, traceparent, webhook }),
    ...(flow && step && { step: step.name, direction: flow.direction }),
  }
}

function rulesOf({ task, run: { timeoutAt } }: Claimed): RunRules {
  const { options, deadlineAt } = task
  return {
    localRetries: options.retry.localRetries,
    resultBytesMax: roomForResult(task),
    ...{ timeoutAt, timeoutMs: options.timeoutMs },
    deadline: deadlineAt === undefined ? undefined : { at: deadlineAt, error: deadlineExceeded(task) },
  }
}

/** No retry helps when the content is no longer stored. */
function asFatal(error: unknown): never {
  throw error instanceof BodyGone ? new Fatal(error.message) : error
}

async function hold(held: Held, lose: (why: RunLost) => void, over: AbortSignal): Promise<void> {
  const { clock } = held.system
  const beats = sendBeats(held, lose, over)
  while (!over.aborted) {
    await clock.sleep(leaseLeftMs(held), over)
    if (!over.aborted && leaseLeftMs(held) <= 0) lose('storage')
  }
  // A heartbeat that hangs is not awaited: the fence refuses what it may still write.
  const beaten = new AbortController()
  await Promise.race([beats.finally(() => beaten.abort()), clock.sleep(LAST_BEAT_MS, beaten.signal)])
}

async function sendBeats(held: Held, lose: (why: RunLost) => void, over: AbortSignal): Promise<void> {
  const { clock, log } = held.system
  for (let most = FIRST_BEAT_MS_MAX; ; most = Number.POSITIVE_INFINITY) {
    if (held.system.hasLiveLogs) most = Math.min(most, LIVE_LOG_MS)
    await clock.sleep(Math.min(most, beatIntervalMs(held.task, held.fence)), over)
    if (over.aborted) return
    const gone = await beat(held).catch(error => {
      log.warn('a heartbeat failed', { ...logFields(held.task), error })
    })
    if (gone) return lose(gone)
  }
}

/** Sends one heartbeat. Returns why the run is gone, if it is. */
async function beat(held: Held): Promise<RunGone | undefined> {
  const { system, fence, task: seen, progress } = held
  const since = momentOf(system.clock)
  held.progress = undefined
  const isLive = system.hasLiveLogs || seen.options.liveLog
  const log = isLive ? held.newestLines() : undefined
  const sent: Beat = { born: seen.born, fence, ...defined({ progress, log }) }
  // It is decided again when the task has changed meanwhile.
  const { decision, head: task } = await transact(system, seen, current =>
    heartbeat(current, sent, system.clock.now()),
  ).catch(error => {
    if (held.progress === undefined) held.progress = progress
    throw error
  })
  if (!decision.ok) return decision.reason
  if (!task) return 'removed'
  held.task = task
  held.lease = { until: decision.leaseUntil, since }
  return undefined
}

/**
 * How much of the lease is left at least, by both clocks. With the wall clock alone, a run would outlast its lease after the clock
 * was set back, since other processes judge the lease by their own clocks. The monotonic clock measures its full length.
 */
function leaseLeftMs({ system, lease: { until, since } }: Held): number {
  return until - since.wall - elapsedSince(system.clock, since)
}

/** While the store does not answer, or other writers are faster, it tries again until the lease ends. */
async function finish(held: Held, outcome: Outcome): Promise<RunEnd> {
  const { system, fence, task: seen } = held
  for (;;) {
    try {
      const { decision, head } = await writeFinish(system, seen, { born: seen.born, fence, ...outcome })
      if (!decision.ok) return { outcome: 'stopped', why: decision.reason }
      if (!decision.change && head) logEndFound(system, seen, head, fence)
      return outcome
    } catch (error) {
      if (!isOutage(error) || leaseLeftMs(held) <= 0) throw error
      system.log.warn('the end of a run is not written yet', { ...logFields(seen), error })
      await system.clock.sleep(FINISH_PAUSE_MS)
    }
  }
}
