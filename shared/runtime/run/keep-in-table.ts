import { defined } from '../../core/defined.ts'
import { BatonError, isOutage } from '../../core/errors.ts'
import { roomForResult } from '../../core/flow/flow.ts'
import type { Json } from '../../core/json.ts'
import { deadlineExceeded } from '../../core/run/deadline.ts'
import { type Beat, beatIntervalMs, heartbeat } from '../../core/run/heartbeat.ts'
import type { Outcome, RunGone } from '../../core/run/run.ts'
import { idempotencyKey } from '../../core/task/piece.ts'
import { runId, type Task } from '../../core/task/task.ts'
import type { WebhookSettings } from '../../core/types/task-type.ts'
import type { Clock } from '../../ports/machine.ts'
import type { KeptRun, RunFacts, RunLost, RunRules } from '../../ports/runs.ts'
import { Fatal, Release } from '../../signals.ts'
import type { Claimed } from '../claim/claim.ts'
import { BodyGone, contentOf } from '../claim/content-of.ts'
import { transact } from '../kernel/kernel.ts'
import { logEndFound, logRunStopped } from '../kernel/log-run-ends.ts'
import { elapsedSince, type Moment, momentOf } from '../kernel/moment.ts'
import { inRunSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { publishChild } from '../publish/publish-child.ts'
import { writeFinish } from './finish-run.ts'
import { type Ran, type RunTools, runClaimed } from './run.ts'

/** The first heartbeat is sent after this time at the latest, so that lists show a run as running within two seconds. */
const FIRST_BEAT_MS = 1_500

/** A heartbeat that is in progress when the run has ended gets this long to end. */
const LAST_BEAT_MS = 1_000

/** After a failed write of the end, the next try comes after this time. */
const FINISH_PAUSE_MS = 500

/** A task whose content cannot be read now is released for this long. */
const CONTENT_PAUSE_MS = 5_000

/** Runs a claimed task to its end, within a span of its trace. `webhook` are the settings of a type of kind `webhook`. */
export function runInTable(
  system: System,
  claimed: Claimed,
  tools: RunTools<Claimed>,
  webhook?: WebhookSettings,
): Promise<Ran> {
  return inRunSpan(claimed, traceparent =>
    runClaimed(system, keepInTable(system, { ...claimed, ...defined({ traceparent }) }, webhook), tools),
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
  /** The loop of heartbeats, and the watch of the lease. Each ends with the run. */
  loops: readonly [beats: Promise<void>, lease: Promise<void>]
  stopIfLeaseEnded(): void
}

/** A lease as this process knows it. `since` is a moment before the lease was asked for. */
type Lease = { readonly until: number; readonly since: Moment }

/**
 * Keeps a run in the table. A heartbeat that finds the run gone stops it at once. When the store fails or does not answer, the run
 * goes on until the lease ends by either clock. Each heartbeat returns the task as it is stored, so a changed `heartbeatMs` applies
 * from the next heartbeat.
 */
export function keepInTable(system: System, claimed: Claimed, webhook?: WebhookSettings): KeptRun<Claimed> {
  const { task, run, traceparent } = claimed
  const held: Held = {
    system,
    fence: run.fence,
    task,
    lease: { until: run.leaseUntil, since: momentOf(system.clock) },
    loops: [Promise.resolve(), Promise.resolve()],
    stopIfLeaseEnded: () => undefined,
  }
  const measured = () => system.metrics.add('RunTime', system.clock.now() - run.startedAt, task.type)
  return {
    claim: claimed,
    facts: { ...factsOf(claimed), ...defined({ webhook }) },
    rules: rulesOf(claimed),
    hold: (stop, over) => hold(held, stop, over),
    refresh: () => held.stopIfLeaseEnded(),
    content: () => contentOf(system, task).catch(asSignal),
    record: progress => {
      held.progress = progress
    },
    publish: publication =>
      publishChild(system, { id: task.id, userId: task.userId, traceparent }, publication),
    finish: outcome => {
      measured()
      return finish(held, outcome)
    },
    abandon: why => {
      measured()
      logRunStopped(system, held.task, run.fence, why)
    },
    close: () => close(held),
  }
}

function factsOf({ task, run, traceparent }: Claimed): RunFacts {
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
    ...defined({ stage, traceparent }),
    ...(flow && step && { step: step.name, direction: flow.direction }),
  }
}

function rulesOf({ task, run: { timeoutAt } }: Claimed): RunRules {
  const { options, deadlineAt } = task
  return {
    localRetries: options.retry.localRetries,
    ...defined({ timeoutAt, timeoutMs: options.timeoutMs, resultBytesMax: roomForResult(task) }),
    ...(deadlineAt !== undefined && { deadline: { at: deadlineAt, error: deadlineExceeded(task) } }),
  }
}

/** Turns a failed read into a signal: the task is released for a while when the store does not answer. */
function asSignal(error: unknown): never {
  if (error instanceof BatonError && error.code === 'unavailable') throw new Release(CONTENT_PAUSE_MS)
  if (error instanceof BodyGone) throw new Fatal(error.message)
  throw error
}

function hold(held: Held, stop: (why: RunLost) => void, over: AbortSignal): void {
  const { clock } = held.system
  held.stopIfLeaseEnded = () => {
    if (!over.aborted && leftOf(clock, held.lease) <= 0) stop('storage')
  }
  held.loops = [sendBeats(held, stop, over), watchLease(held, over)]
}

async function sendBeats(held: Held, stop: (why: RunLost) => void, over: AbortSignal): Promise<void> {
  const { clock, log } = held.system
  let interval = Math.min(FIRST_BEAT_MS, beatIntervalMs(held.task, held.fence))
  while (!over.aborted) {
    await clock.sleep(interval, over)
    if (over.aborted) return
    const gone = await beat(held).catch(error => {
      log.warn('a heartbeat failed', { ...logFields(held.task), error })
    })
    if (gone) return stop(gone)
    interval = beatIntervalMs(held.task, held.fence)
  }
}

/** Sends one heartbeat. Returns why the run is gone, if it is. */
async function beat(held: Held): Promise<RunGone | undefined> {
  const { system, fence, task: seen, progress } = held
  const since = momentOf(system.clock)
  held.progress = undefined
  const sent: Beat = { born: seen.born, fence, ...defined({ progress }) }
  // It is decided again when the task has changed meanwhile.
  const { decision, head: task } = await transact(system, seen, current =>
    heartbeat(current, sent, system.clock.now()),
  ).catch(error => {
    if (held.progress === undefined) held.progress = progress
    throw error
  })
  if (!decision.ok) return decision.reason
  if (!task) throw new Error('a heartbeat was written but left no task')
  held.task = task
  held.lease = { until: decision.leaseUntil, since }
  return undefined
}

async function watchLease(held: Held, over: AbortSignal): Promise<void> {
  const { clock } = held.system
  while (!over.aborted) {
    await clock.sleep(leftOf(clock, held.lease), over)
    held.stopIfLeaseEnded()
  }
}

/**
 * How much of the lease is left at least, by both clocks. With the wall clock alone, a run would outlast its lease after the clock
 * was set back, since other processes judge the lease by their own clocks. The monotonic clock measures its full length.
 */
function leftOf(clock: Clock, { until, since }: Lease): number {
  return until - since.wall - elapsedSince(clock, since)
}

/**
 * Writes the end of the run. While the store does not answer, or other writers are faster, it tries again until the lease ends.
 * Returns undefined when another process has ended the run before; that end holds.
 */
async function finish(held: Held, outcome: Outcome): Promise<Outcome | undefined> {
  const { system, fence, task: seen } = held
  for (;;) {
    try {
      const { decision, head } = await writeFinish(system, seen, { born: seen.born, fence, ...outcome })
      if (decision.ok && !decision.change && head) logEndFound(system, seen, head, fence)
      if (decision.ok) return outcome
      logRunStopped(system, seen, fence, decision.reason)
      return undefined
    } catch (error) {
      if (!isOutage(error) || leftOf(system.clock, held.lease) <= 0) throw error
      system.log.warn('the end of a run is not written yet', { ...logFields(seen), error })
      await system.clock.sleep(FINISH_PAUSE_MS)
    }
  }
}

/** Waits for the end of both loops. A heartbeat that hangs is not awaited: the fence refuses what it may still write. */
async function close({ system: { clock }, loops: [beats, lease] }: Held): Promise<void> {
  const beaten = new AbortController()
  await Promise.race([beats.finally(() => beaten.abort()), clock.sleep(LAST_BEAT_MS, beaten.signal)])
  await lease
}
