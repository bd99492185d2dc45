import type { FinishMember } from '../../api/runs.ts'
import { BATCH_BYTES_MAX, BATCH_ESCAPED_BYTES_MAX, BATCH_TASKS_MAX } from '../../core/bounds.ts'
import { fittedReport } from '../../core/run/report.ts'
import type { Outcome } from '../../core/run/run.ts'
import { shortError } from '../../core/task-error/task-error.ts'
import { defined, escapedBytes, type Json, jsonBytes, sortedJson } from '../../core/values/values.ts'

/**
 * The reports of the ends of runs, as values: which of them go into one request, what the status of an answer says, and what is sent
 * in place of a report that the API does not take. `held-runs.ts` sends them.
 */

/** The end of a run as it is sent. Its error is cut to what is stored, so the API keeps all that the report says. */
export type EndReport = {
  readonly outcome: Outcome
  readonly member: FinishMember
  readonly bytes: number
  readonly escapedBytes: number
}

type RunName = { readonly taskId: string; readonly runId: string; readonly fence: number }

export function endReport({ taskId, runId, fence }: RunName, end: Outcome): EndReport {
  const outcome = fittedReport(end)
  const member = { taskId, runId, fence, ...outcome } as FinishMember
  const json = member as Json
  return { outcome, member, bytes: jsonBytes(json), escapedBytes: escapedBytes(json) }
}

/** How many of the reports, from the first on, fit one request. A report that fits none is sent alone. */
export function countInBatch(reports: readonly EndReport[]): number {
  let [bytes, escaped] = [0, 0]
  const firstLeft = reports.slice(0, BATCH_TASKS_MAX).findIndex(report => {
    bytes += report.bytes + 1
    escaped += report.escapedBytes + 1
    return bytes > BATCH_BYTES_MAX || escaped > BATCH_ESCAPED_BYTES_MAX
  })
  return firstLeft === -1 ? Math.min(reports.length, BATCH_TASKS_MAX) : Math.max(1, firstLeft)
}

/**
 * What the status of an answer says about a report.
 *
 * - `later`: it may be accepted later. The answer is missing, or reports an outage, or the worker's permission is missing.
 * - `gone`: another process has ended the run.
 * - `illegal`: this report is never accepted. Another one may be.
 * - `refused`: no report of the run is accepted.
 */
export type Verdict = 'accepted' | 'later' | 'gone' | 'illegal' | 'refused'

const LATER: readonly number[] = [0, 401, 403, 408, 429]

export function verdictOf(status: number): Verdict {
  if (status === 200) return 'accepted'
  if (status === 404 || status === 409) return 'gone'
  if (isIllegal(status)) return 'illegal'
  return LATER.includes(status) || status >= 500 ? 'later' : 'refused'
}

/** Whether the request, or a member of it, is wrong or too large. */
export function isIllegal(status: number): boolean {
  return status === 400 || status === 413
}

/**
 * The end that is sent in place of one that is illegal. A success becomes a failure for good, because another run would have the same
 * result. A failure loses its log and most of its error. Undefined when there is nothing left to cut.
 */
export function correctedEnd(outcome: Outcome, detail: string): Outcome | undefined {
  if (outcome.outcome === 'release') return undefined
  if (outcome.outcome === 'succeed') {
    return { outcome: 'fail', fatal: true, error: { name: 'InvalidResult', message: detail } }
  }
  const { error, fatal, retryInMs } = outcome
  const short: Outcome = { outcome: 'fail', error: shortError(error), ...defined({ fatal, retryInMs }) }
  return sortedJson(short as Json) === sortedJson(outcome as Json) ? undefined : short
}
