import { type Change, isOfTask } from '../../core/change.ts'
import { statusOf } from '../../core/status.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import { type EndedRun, type EndedRunState, runId, type Task } from '../../core/task/task.ts'
import { TRACEPARENT } from '../../core/values/text.ts'
import type { Chance, Log, LogFields, Metrics } from '../../ports/machine.ts'

type Logging = { readonly log: Log }

/**
 * Logs one line for each run that a written change has ended, and counts the lost ones. A failed or lost run gets a
 * warning with its error and the time of the next try. The process that wrote the change logs it: the worker, the API for
 * HTTP workers, or, for a lost run, the waker or the worker that takes the task over.
 */
export function logRunEnds({ log, metrics }: Logging & { readonly metrics: Metrics }, change: Change): void {
  if (!isOfTask(change)) return
  const { before, after, bodies } = change
  if (before?.born !== after.born) return
  for (const fence of Object.keys(before.live)) {
    if (after.live[fence]) continue
    const record = bodies.find(body => 'run' in body && body.run.fence === Number(fence))
    const run = record && 'run' in record ? record.run : after.ended[fence]
    logEnd(log, before, after, Number(fence), run)
    if (run?.state === 'lost') metrics.add('LeaseLost', 1, after.type)
  }
}

/** Logs the end of a run whose worker lost the answer to its write, and finds only now that the end was written. */
export function logEndFound({ log }: Logging, before: Task, after: Task, fence: number): void {
  logEnd(log, before, after, fence, after.ended[fence])
}

const LEVELS = {
  succeeded: 'info',
  released: 'info',
  cancelled: 'info',
  failed: 'warn',
  lost: 'warn',
} as const satisfies Record<EndedRunState, keyof Log>

/** Logs one run's end. `run` is undefined after a step of a flow that succeeded, and for a removed task: no run is kept. */
function logEnd(log: Log, before: Task, after: Task, fence: number, run: EndedRun | undefined): void {
  const state = run?.state ?? (after.operation === 'succeed' ? 'succeeded' : 'cancelled')
  const startedAt = run?.startedAt ?? before.live[fence]?.startedAt
  const hasFailed = LEVELS[state] === 'warn'
  log[LEVELS[state]](`run ${state}`, {
    ...runFields(before, fence),
    ...(startedAt !== undefined && { ms: Math.max(0, (run?.endedAt ?? after.updatedAt) - startedAt) }),
    ...(hasFailed && { ...nextTry(before, after), error: run?.error }),
    ...(before.flow && after.state !== 'open' && after.state !== 'removed' && { status: after.state }),
  })
}

function runFields(task: Task, fence: number): LogFields {
  return {
    ...logFields(task),
    runId: runId(task.born, fence),
    attempt: task.failures + 1,
    ...pieceFields(task),
  }
}

/** The present step of a flow with its direction, or the stage of the task. */
function pieceFields({ flow, stage }: Task): LogFields {
  const step = flow?.definition.steps[flow.presentStep]
  if (step) return { step: step.name, direction: flow?.direction }
  return stage === undefined ? {} : { stage }
}

/** When the task is tried again. A flow that undoes its steps does not try the failed step again. */
function nextTry(before: Task, after: Task): LogFields {
  const isTriedAgain = after.state === 'open' && isSamePiece(before, after)
  if (!isTriedAgain) return { nextTry: 'never', status: statusOf(after, after.updatedAt) }
  return { nextTry: new Date(Math.max(after.dueAt, after.updatedAt)).toISOString() }
}

/** The id of the trace in a traceparent. Undefined when there is none. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  return TRACEPARENT.exec(traceparent ?? '')?.[1]
}

export function newTraceparent(chance: Chance): string {
  return `00-${hex(chance, 32)}-${hex(chance, 16)}-01`
}

/** Random hexadecimal digits. The last digit is never 0, because an id of zeros only is invalid. */
function hex(chance: Chance, digits: number): string {
  const random = Array.from({ length: digits - 1 }, () => Math.floor(chance.fraction() * 16).toString(16))
  return `${random.join('')}${(1 + Math.floor(chance.fraction() * 15)).toString(16)}`
}

export function logFields({ id, traceparent }: { readonly id: string; readonly traceparent?: string }): {
  taskId: string
  traceId: string | undefined
} {
  return { taskId: id, traceId: traceIdOf(traceparent) }
}
