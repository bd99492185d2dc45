import { SHOWN_RUNS_MAX } from '../../core/bounds.ts'
import { roomForResult } from '../../core/flow/flow.ts'
import { type Beat, heartbeat } from '../../core/run/lease.ts'
import { isSameReport } from '../../core/run/report.ts'
import { type Outcome, type RecordedEnd, type RunGone, recordedEnd, whyEnded } from '../../core/run/run.ts'
import { liveRuns, type Task } from '../../core/task/task.ts'
import { defined, jsonBytes } from '../../core/values/values.ts'
import { writeFinish } from '../claim/claimed-task.ts'
import { readTask } from '../kernel/heads.ts'
import { transact } from '../kernel/kernel.ts'
import { endOfRequest, inTime, type System } from '../kernel/system.ts'

/** The run that an HTTP worker reports on. */
export type RunReference = { readonly taskId: string; readonly born: string; readonly fence: number }

/**
 * Why a report on a run is refused.
 *
 * - `unknown`      there is no such task
 * - `unknown-run`  the task has not given out this fence yet
 * - `RunGone`      the run is over
 */
export type RunRefusal =
  | { readonly ok: false; readonly reason: 'unknown' }
  | { readonly ok: false; readonly reason: 'unknown-run' }
  | {
      readonly ok: false
      readonly reason: RunGone
      /** The worker that holds the task now. */
      readonly holder?: string
      /** How the run ended, if that is still on record. */
      readonly end?: RecordedEnd
    }

export type RunNews = Pick<Beat, 'progress' | 'log'>

export type BeatOutcome = { readonly ok: true; readonly leaseUntil: number; readonly task: Task } | RunRefusal

/**
 * A heartbeat over HTTP: renews the run's lease.
 *
 * @throws BatonError `unavailable` or `contended` when it is not written in time.
 */
export function beatOverHttp(
  system: System,
  run: RunReference,
  news: RunNews = {},
  until: number = endOfRequest(system),
): Promise<BeatOutcome> {
  return inTime(system, until, 'the heartbeat is not written', () => beat(system, run, news))
}

async function beat(system: System, run: RunReference, { log, ...news }: RunNews): Promise<BeatOutcome> {
  const { taskId, born, fence } = run
  const seen = await readTask(system, taskId)
  if (!seen) return { ok: false, reason: 'unknown' }
  const report = { born, fence, ...news, ...(seen.options.liveLog && defined({ log })) }
  const { decision, head: task } = await transact(system, seen, current =>
    heartbeat(current, report, system.clock.now()),
  )
  if (!decision.ok || !task) return refusal(system, run, decision.ok ? 'removed' : decision.reason, task)
  return { ok: true, leaseUntil: decision.leaseUntil, task }
}

/**
 * The outcome of a report of a run's end.
 *
 * - `no-stages`  the run belongs to a step of a flow, which has no next stage
 * - `no-room`    the result has more than the `room` bytes that are left among the flow's parameters
 */
export type EndOutcome =
  | { readonly ok: true; readonly task: Task }
  | { readonly ok: false; readonly reason: 'no-stages' }
  | { readonly ok: false; readonly reason: 'no-room'; readonly room: number }
  | RunRefusal

/**
 * Ends a run by its worker's report over HTTP. A repetition of the same report is accepted.
 *
 * @throws BatonError `unavailable` or `contended` when the end is not written in time. The write may still happen, or may
 * have happened. Repeating the report is safe.
 */
export function finishOverHttp(
  system: System,
  run: RunReference,
  outcome: Outcome,
  until: number = endOfRequest(system),
): Promise<EndOutcome> {
  return inTime(system, until, 'the end of the run is not written', () => finishOnce(system, run, outcome))
}

async function finishOnce(system: System, run: RunReference, outcome: Outcome): Promise<EndOutcome> {
  const { taskId, born, fence } = run
  const seen = await readTask(system, taskId)
  if (!seen) return { ok: false, reason: 'unknown' }
  const isLive = seen.born === born && seen.live[fence] !== undefined
  const problem = isLive && outcome.outcome === 'succeed' ? stepProblem(seen, outcome) : undefined
  if (problem) return problem
  const { decision, head: task } = await writeFinish(system, seen, { born, fence, ...outcome })
  if (decision.ok && task) return { ok: true, task }
  const refused = await refusal(system, run, decision.ok ? 'removed' : decision.reason, task)
  const isRepeat = task !== undefined && 'end' in refused && isSameReport(refused.end, outcome)
  return isRepeat ? { ok: true, task } : refused
}

function stepProblem(task: Task, { next, result }: Extract<Outcome, { outcome: 'succeed' }>) {
  const room = roomForResult(task)
  if (room === undefined) return undefined
  if (next) return { ok: false, reason: 'no-stages' } as const
  const isTooLong = result !== undefined && jsonBytes(result) > room
  return isTooLong ? ({ ok: false, reason: 'no-room', room } as const) : undefined
}

/** The refusal of a report on a run that is over, with how it ended. */
async function refusal(
  system: System,
  run: RunReference,
  reason: RunGone,
  task: Task | undefined,
): Promise<RunRefusal> {
  if (!task || reason === 'removed') return { ok: false, reason }
  if (run.fence > task.fence) return { ok: false, reason: 'unknown-run' }
  const [holder] = liveRuns(task).toSorted((a, b) => b.fence - a.fence)
  const end = await endOf(system, task, run.fence)
  return {
    ok: false,
    reason: end ? whyEnded(end) : reason,
    ...(holder && { holder: holder.workerId }),
    ...(end && { end }),
  }
}

/** How the run ended. The head shortens errors and forgets older runs; the records of runs keep all of it. */
async function endOf({ tasks }: System, task: Task, fence: number): Promise<RecordedEnd | undefined> {
  const end = recordedEnd(task, fence)
  if (end?.state === 'succeeded') return end
  const records = await tasks.runRecords(task.id, task.born, SHOWN_RUNS_MAX)
  return records.find(record => record.fence === fence) ?? end
}
