import {
  type FailBody,
  finishMembers,
  finishOutcome,
  heartbeatMember,
  type ReleaseBody,
  type SucceedBody,
} from '../../api/runs.ts'
import type { Outcome } from '../../core/run/run.ts'
import { defined } from '../../core/values/defined.ts'
import type { Json } from '../../core/values/json.ts'
import { type Checked, check, checkRule } from '../check.ts'
import type { RunUpdate } from './apply-run-update.ts'

/** The outcome in the body of a succeeded run. */
export function successOf({ result, next }: Omit<SucceedBody, 'fence'>): Outcome {
  return { outcome: 'succeed', ...defined({ result, next }) }
}

/** The outcome in the body of a failed run. */
export function failureOf({ error, fatal, retryInMs, log }: Omit<FailBody, 'fence'>): Outcome {
  return {
    outcome: 'fail',
    error,
    ...defined({ fatal, retryInMs, log: log?.toWellFormed() }),
  }
}

/** The outcome in the body of a released run. */
export function releaseOf({ delayMs }: Pick<ReleaseBody, 'delayMs'>): Outcome {
  return { outcome: 'release', ...(delayMs !== undefined && { delayMs }) }
}

/** Checks one member of a batch of heartbeats. */
export function parseHeartbeat(value: unknown, at: string): Checked<RunUpdate<Json | undefined>> {
  return updateOf(check(heartbeatMember, value, at), ({ progress }) => progress, at)
}

/** Checks one member of a batch of finished runs. Its outcome decides which of three rules it must fit. */
export function parseFinish(value: unknown, at: string): Checked<RunUpdate<Outcome>> {
  const outcome = checkRule(finishOutcome, value, at)
  if (!outcome.ok) return outcome
  switch (outcome.value.outcome) {
    case 'succeed':
      return updateOf(check(finishMembers.succeed, value, at), successOf, at)
    case 'fail':
      return updateOf(check(finishMembers.fail, value, at), failureOf, at)
    case 'release':
      return updateOf(check(finishMembers.release, value, at), releaseOf, at)
  }
}

type RunFields = Pick<RunUpdate<unknown>, 'taskId' | 'runId' | 'fence'>

function updateOf<Fields extends RunFields, Content>(
  checked: Checked<Fields>,
  contentOf: (fields: Fields) => Content,
  at: string,
): Checked<RunUpdate<Content>> {
  if (!checked.ok) return checked
  const { taskId, runId, fence } = checked.value
  return { ok: true, value: { taskId, runId, fence, content: contentOf(checked.value), at } }
}
