import * as api from '../../api/index.ts'
import { LIVE_LOG_BYTES_MAX, PROGRESS_BYTES_MAX, RUN_LOG_BYTES_MAX } from '../../core/bounds.ts'
import { joinPath } from '../../core/rules/rules.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { Task } from '../../core/task/task.ts'
import { defined, jsonBytes, textBytes } from '../../core/values/values.ts'
import type { System } from '../../runtime/kernel/system.ts'
import type { EndOutcome, RunNews, RunReference } from '../../runtime/run/http-runs.ts'
import { beatOverHttp, finishOverHttp } from '../../runtime/run/http-runs.ts'
import { type Checked, check, checkRule, type Parts } from '../operation.ts'
import { invalid, noSuchRun, runProblem } from '../present/problems.ts'
import { runReference, sizeProblem } from './publish-requests.ts'

/** A worker's heartbeat of a run, or its report of the run's end. `content` is the news or the outcome, `at` its path. */
export type RunUpdate<Content> = {
  readonly taskId: string
  readonly runId: string
  readonly fence: number
  readonly content: Content
  readonly at?: string
}

type Refused = { readonly ok: false; readonly problem: api.Problem }

/** Records a heartbeat, and that the run's worker is alive. The heartbeat must be written by `until`. */
export async function heartbeatRun(
  { system, httpWorkers }: Parts,
  update: RunUpdate<RunNews>,
  until?: number,
): Promise<{ readonly ok: true; readonly leaseUntil: number; readonly task: Task } | Refused> {
  const { content, at } = update
  const tooLarge = progressProblem(update) ?? logProblem(content.log, LIVE_LOG_BYTES_MAX, at)
  if (tooLarge) return { ok: false, problem: tooLarge }
  const renewed = await applyToRun(update, run => beatOverHttp(system, run, content, until))
  const workerId = renewed.ok ? renewed.task.live[update.fence]?.workerId : undefined
  if (renewed.ok && workerId !== undefined)
    await httpWorkers.recordActivity({ workerId }, [renewed.task.type])
  return renewed
}

/** Records the end of a run. The end must be written by `until`. */
export async function finishRun(
  system: System,
  update: RunUpdate<Outcome>,
  until?: number,
): Promise<{ readonly ok: true; readonly task: Task } | Refused> {
  const { content, at = '' } = update
  const result = content.outcome === 'succeed' ? content.result : undefined
  const next = content.outcome === 'succeed' ? content.next : undefined
  const tooLarge =
    sizeProblem(result, joinPath(at, ['result'])) ?? sizeProblem(next?.input, joinPath(at, ['next', 'input']))
  if (tooLarge) return { ok: false, problem: invalid([tooLarge], 'too-large') }
  const longLog = logProblem(content.outcome === 'fail' ? content.log : undefined, RUN_LOG_BYTES_MAX, at)
  if (longLog) return { ok: false, problem: longLog }
  return applyToRun<{ readonly ok: true; readonly task: Task }>(update, run =>
    finishOverHttp(system, run, content, until),
  )
}

function progressProblem({ content: { progress }, at = '' }: RunUpdate<RunNews>): api.Problem | undefined {
  const bytes = progress === undefined ? 0 : jsonBytes(progress)
  if (bytes <= PROGRESS_BYTES_MAX) return undefined
  const message = `has ${bytes} bytes as JSON; at most ${PROGRESS_BYTES_MAX} are kept`
  return invalid([{ path: joinPath(at, ['progress']), message }], 'too-large')
}

/** Returns the problem of a fence that differs from the fence in the run's id. */
function wrongFence({ taskId, runId, fence, at = '' }: RunUpdate<unknown>, run: RunReference): api.Problem {
  const message = `must be ${run.fence}, not ${fence}: run ${runId} of ${taskId} has that fence, as the answer to the claim says`
  return invalid([{ path: joinPath(at, ['fence']), message }])
}

function logProblem(log = '', bytesMax: number, at = ''): api.Problem | undefined {
  const bytes = textBytes(log)
  if (bytes <= bytesMax) return undefined
  const message = `has ${bytes} bytes in UTF-8; at most ${bytesMax} are kept: send the newest lines`
  return invalid([{ path: joinPath(at, ['log']), message }], 'too-large')
}

/** Applies an update to its run, or returns the problem of its refusal. */
async function applyToRun<Accepted extends { readonly ok: true }>(
  update: RunUpdate<unknown>,
  apply: (run: RunReference) => Promise<Accepted | Exclude<EndOutcome, { ok: true }>>,
): Promise<Accepted | Refused> {
  const { taskId, runId, fence, at = '' } = update
  const run = runReference(taskId, runId)
  if (!run) return { ok: false, problem: noSuchRun(taskId, runId) }
  if (run.fence !== fence) return { ok: false, problem: wrongFence(update, run) }
  const outcome = await apply(run)
  if (outcome.ok) return outcome
  switch (outcome.reason) {
    case 'no-stages': {
      const message = 'is not for flows: the flow itself declares the next step'
      return { ok: false, problem: invalid([{ path: joinPath(at, ['next']), message }]) }
    }
    case 'no-room': {
      const message = `is too long: the parameters of ${taskId} have ${Math.max(0, outcome.room)} bytes left`
      return { ok: false, problem: invalid([{ path: joinPath(at, ['result']), message }], 'too-large') }
    }
    default:
      return { ok: false, problem: runProblem(taskId, runId, outcome) }
  }
}

export function successOf({ result, next }: Omit<api.SucceedBody, 'fence'>): Outcome {
  return { outcome: 'succeed', ...defined({ result, next }) }
}

export function failureOf({ error, fatal, retryInMs, log }: Omit<api.FailBody, 'fence'>): Outcome {
  return {
    outcome: 'fail',
    error,
    ...defined({ fatal, retryInMs, log: log?.toWellFormed() }),
  }
}

export function releaseOf({ delayMs }: Pick<api.ReleaseBody, 'delayMs'>): Outcome {
  return { outcome: 'release', ...(delayMs !== undefined && { delayMs }) }
}

export function newsOf({ progress, log }: Omit<api.HeartbeatBody, 'fence'>): RunNews {
  return defined({ progress, log: log?.toWellFormed() })
}

export function parseHeartbeat(value: unknown, at: string): Checked<RunUpdate<RunNews>> {
  return updateOf(check(api.heartbeatMember, value, at), newsOf, at)
}

/** Checks one member of a batch of finished runs. Its outcome decides which of three rules it must fit. */
export function parseFinish(value: unknown, at: string): Checked<RunUpdate<Outcome>> {
  const outcome = checkRule(api.finishOutcome, value, at)
  if (!outcome.ok) return outcome
  switch (outcome.value.outcome) {
    case 'succeed':
      return updateOf(check(api.finishMembers.succeed, value, at), successOf, at)
    case 'fail':
      return updateOf(check(api.finishMembers.fail, value, at), failureOf, at)
    case 'release':
      return updateOf(check(api.finishMembers.release, value, at), releaseOf, at)
  }
}

function updateOf<Fields extends Pick<RunUpdate<unknown>, 'taskId' | 'runId' | 'fence'>, Content>(
  checked: Checked<Fields>,
  contentOf: (fields: Fields) => Content,
  at: string,
): Checked<RunUpdate<Content>> {
  if (!checked.ok) return checked
  const { taskId, runId, fence } = checked.value
  return { ok: true, value: { taskId, runId, fence, content: contentOf(checked.value), at } }
}
