import {
  type FailBody,
  finishMembers,
  finishOutcome,
  heartbeatMember,
  type ReleaseBody,
  type SucceedBody,
} from '../../../shared/api/runs.ts'
import type { Json } from '../../../shared/core/json.ts'
import type { Outcome } from '../../../shared/core/run/finish.ts'
import { type Checked, check, checkSchema } from '../check.ts'
import type { RunUpdate } from './report-run.ts'

export function successOf({ result, next }: Omit<SucceedBody, 'fence'>): Outcome {
  return { outcome: 'succeed', ...(result !== undefined && { result }), ...(next && { next }) }
}

export function failureOf({ error, fatal, retryInMs, log }: Omit<FailBody, 'fence'>): Outcome {
  return {
    outcome: 'fail',
    error,
    ...(fatal !== undefined && { fatal }),
    ...(retryInMs !== undefined && { retryInMs }),
    ...(log !== undefined && { log: log.toWellFormed() }),
  }
}

export function releaseOf({ delayMs }: Pick<ReleaseBody, 'delayMs'>): Outcome {
  return { outcome: 'release', ...(delayMs !== undefined && { delayMs }) }
}

/** A member of a batch of heartbeats. */
export function parseHeartbeat(value: unknown, at: string): Checked<RunUpdate<Json | undefined>> {
  return reportOf(check(heartbeatMember, value, at), ({ progress }) => progress, at)
}

/** A member of a batch of finishes: its outcome says which of three forms it has. */
export function parseFinish(value: unknown, at: string): Checked<RunUpdate<Outcome>> {
  const outcome = checkSchema(finishOutcome, value, at)
  if (!outcome.ok) return outcome
  switch (outcome.value.outcome) {
    case 'succeed':
      return reportOf(check(finishMembers.succeed, value, at), successOf, at)
    case 'fail':
      return reportOf(check(finishMembers.fail, value, at), failureOf, at)
    case 'release':
      return reportOf(check(finishMembers.release, value, at), releaseOf, at)
  }
}

type RunFields = Pick<RunUpdate<unknown>, 'taskId' | 'runId' | 'fence'>

function reportOf<Fields extends RunFields, Said>(
  checked: Checked<Fields>,
  saidIn: (fields: Fields) => Said,
  at: string,
): Checked<RunUpdate<Said>> {
  if (!checked.ok) return checked
  const { taskId, runId, fence } = checked.value
  return { ok: true, value: { taskId, runId, fence, content: saidIn(checked.value), at } }
}
