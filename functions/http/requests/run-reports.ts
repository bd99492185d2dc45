import {
  type FailBody,
  finishMembers,
  heartbeatMember,
  outcomeOnly,
  type ReleaseBody,
  type SucceedBody,
} from '../../../shared/api/runs.ts'
import type { Json } from '../../../shared/core/json.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { type Checked, check, fits } from '../check.ts'
import type { EndReport } from './report-run.ts'

export function succeeding({ result, next }: Omit<SucceedBody, 'fence'>): Outcome {
  return { outcome: 'succeed', ...(result !== undefined && { result }), ...(next && { next }) }
}

export function failing({ error, fatal, retryInMs, log }: Omit<FailBody, 'fence'>): Outcome {
  return {
    outcome: 'fail',
    error,
    ...(fatal !== undefined && { fatal }),
    ...(retryInMs !== undefined && { retryInMs }),
    ...(log !== undefined && { log: log.toWellFormed() }),
  }
}

export function releasing({ delayMs }: Pick<ReleaseBody, 'delayMs'>): Outcome {
  return { outcome: 'release', ...(delayMs !== undefined && { delayMs }) }
}

/** A member of a batch of heartbeats. */
export function beatMember(value: unknown, at: string): Checked<EndReport<Json | undefined>> {
  return reportOf(check(heartbeatMember, value, at), ({ progress }) => progress, at)
}

/** A member of a batch of finishes: its outcome says which of three forms it has. */
export function finishMember(value: unknown, at: string): Checked<EndReport<Outcome>> {
  const outcome = fits(outcomeOnly, value, at)
  if (!outcome.ok) return outcome
  switch (outcome.value.outcome) {
    case 'succeed':
      return reportOf(check(finishMembers.succeed, value, at), succeeding, at)
    case 'fail':
      return reportOf(check(finishMembers.fail, value, at), failing, at)
    case 'release':
      return reportOf(check(finishMembers.release, value, at), releasing, at)
  }
}

type RunFields = Pick<EndReport<unknown>, 'taskId' | 'runId' | 'fence'>

function reportOf<Fields extends RunFields, Said>(
  checked: Checked<Fields>,
  saidIn: (fields: Fields) => Said,
  at: string,
): Checked<EndReport<Said>> {
  if (!checked.ok) return checked
  const { taskId, runId, fence } = checked.value
  return { ok: true, value: { taskId, runId, fence, said: saidIn(checked.value), at } }
}
