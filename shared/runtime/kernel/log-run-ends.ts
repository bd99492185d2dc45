import type { Change } from '../../core/change/change.ts'
import type { RunGone } from '../../core/run/run.ts'
import { statusOf } from '../../core/status/status.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import { type EndedRun, type EndedRunState, runId, type Task } from '../../core/task/task.ts'
import type { Log, LogFields } from '../../ports/machine.ts'
import { logFields } from './traceparent.ts'

/** Why a handler was told to stop. */
export type StopReason = RunGone | 'deadline' | 'stopping' | 'out-of-time' | 'storage'

type Logging = { readonly log: Log }

/**
 * One line for each run that a written change has ended: a warning for one that failed or was lost, with its causes and when it is
 * tried again. The process that wrote the change logs it: the worker, the API for workers over HTTP, and the waker for a lost run.
 */
export function logRunEnds({ log }: Logging, { before, after, bodies }: Change): void {
  if (before?.born !== after.born) return
  for (const fence of Object.keys(before.live)) {
    if (after.live[fence]) continue
    const record = bodies.find(body => 'run' in body && body.run.fence === Number(fence))
    const run = record && 'run' in record ? record.run : after.ended[fence]
    logEnd(log, before, after, Number(fence), run)
  }
}

/** The same for a run whose end was written, and whose worker has found that out only now: the answer to its write was lost. */
export function logEndFound({ log }: Logging, before: Task, after: Task, fence: number): void {
  logEnd(log, before, after, fence, after.ended[fence])
}

/** A worker's line about a run that was taken from it. A person has done that, or something is wrong. */
export function logRunStopped(
  { log }: Logging,
  task: Task,
  fence: number,
  reason: StopReason | undefined,
): void {
  const level = reason && BY_PEOPLE.has(reason) ? 'info' : 'warn'
  log[level]('run stopped', { ...runFields(task, fence), reason })
}

const BY_PEOPLE: ReadonlySet<StopReason> = new Set(['cancelled', 'removed', 'excluded'])

const LEVELS = {
  succeeded: 'info',
  released: 'info',
  cancelled: 'info',
  failed: 'warn',
  lost: 'warn',
} as const satisfies Record<EndedRunState, keyof Log>

/** A flow keeps no run that ended a step well, and a removed task none at all. */
function logEnd(log: Log, before: Task, after: Task, fence: number, run: EndedRun | undefined): void {
  const state = run?.state ?? (after.operation === 'succeed' ? 'succeeded' : 'cancelled')
  const startedAt = run?.startedAt ?? before.live[fence]?.startedAt
  const hasFailed = LEVELS[state] === 'warn'
  log[LEVELS[state]](`run ${state}`, {
    ...runFields(before, fence),
    ...(startedAt !== undefined && { ms: Math.max(0, (run?.endedAt ?? after.updatedAt) - startedAt) }),
    ...(hasFailed && { ...nextTry(before, after), error: run?.error }),
  })
}

function runFields(task: Task, fence: number): LogFields {
  return { ...logFields(task), runId: runId(task.born, fence), attempt: task.failures + 1 }
}

/** A flow that undoes its steps tries the failed one no more. */
function nextTry(before: Task, after: Task): LogFields {
  const isTriedAgain = after.state === 'open' && isSamePiece(before, after)
  if (!isTriedAgain) return { nextTry: 'never', status: statusOf(after, after.updatedAt) }
  return { nextTry: new Date(Math.max(after.dueAt, after.updatedAt)).toISOString() }
}
