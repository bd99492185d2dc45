/** The problem documents of the API, and the ones for refusals of use cases. Each says what happened, to which id, and what is legal. */

import { pathOf } from '../../api/endpoints.ts'
import type { ApiProblemCode } from '../../api/problem-codes.ts'
import type { Problem } from '../../api/problems.ts'
import { REQUEST_BYTES_MAX } from '../../core/bounds.ts'
import { type Edited, editsOf, lastEdit } from '../../core/change.ts'
import { undoneBefore } from '../../core/flow/resume.ts'
import { joinPath, thereAre, unknownTypeProblem } from '../../core/rules/rules.ts'
import type { RecordedEnd, RunGone } from '../../core/run/run.ts'
import { CANVAS_TYPE, SCHEDULE_TYPE } from '../../core/task/head-fields.ts'
import { type EndedRunState, liveRuns, splitTaskId, type Task, taskIdPrefix } from '../../core/task/task.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { reservedFor } from '../../core/types/task-type.ts'
import { BatonError, type ErrorCode, type FieldProblem } from '../../core/values/values.ts'
import type { OperateOutcome } from '../../runtime/operate/operate.ts'
import type { RetryRefusal } from '../../runtime/operate/retry-task.ts'
import type { PublishOutcome } from '../../runtime/publish/publish.ts'
import type { UnknownType } from '../../runtime/publish/resolve-publication.ts'
import type { RunRefusal } from '../../runtime/run/http-runs.ts'
import { iso } from './tasks.ts'

/** The kinds of problems, each with its status and title. A problem's `type` ends with its kind. */
export const PROBLEM_KINDS = {
  invalid: [400, 'The request is not valid'],
  'not-found': [404, 'The resource does not exist'],
  'unknown-type': [404, 'The task type is not registered'],
  'method-not-allowed': [405, 'The resource does not know this method'],
  conflict: [409, 'The present state does not allow it'],
  'stale-revision': [409, 'Someone else has changed it since it was read'],
  'too-large': [413, 'The request is too large'],
  'unsupported-media-type': [415, 'The body is not JSON'],
  'too-many-waiting': [429, 'Too many claims wait at the moment'],
  internal: [500, 'Something went wrong'],
  'not-here': [501, 'Not available here'],
  unreadable: [500, 'The stored data cannot be read'],
  'newer-schema': [500, 'The data was written by a newer version'],
  unavailable: [503, 'The storage does not answer at the moment'],
} as const satisfies Record<ApiProblemCode, readonly [number, string]>

export type ProblemKind = ApiProblemCode

type ProblemMembers = Pick<
  Problem,
  'errors' | 'reason' | 'holder' | 'run' | 'requestId' | 'retryAfterMs' | 'revision'
>

/** Problems repeat parts of the request. These parts are cut to these lengths, so that every answer can be delivered. */
const ERRORS_MAX = 100
const DETAIL_CHARACTERS_MAX = 4_000
const PATH_CHARACTERS_MAX = 500

export function problem(
  kind: ProblemKind,
  detail: string,
  { errors, ...more }: ProblemMembers = {},
): Problem {
  const [status, title] = PROBLEM_KINDS[kind]
  return {
    type: `urn:baton:problem:${kind}`,
    title,
    status,
    detail: cut(detail, DETAIL_CHARACTERS_MAX),
    ...(errors && { errors: errors.slice(0, ERRORS_MAX).map(shortProblem) }),
    ...more,
  }
}

function shortProblem({ path, message }: FieldProblem): FieldProblem {
  return { path: cut(path, PATH_CHARACTERS_MAX), message: cut(message, DETAIL_CHARACTERS_MAX) }
}

/** The problem of invalid input. Its detail names the first wrong field, its `errors` name all. */
export function invalid(errors: readonly FieldProblem[], kind: 'invalid' | 'too-large' = 'invalid'): Problem {
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const detail = first ? `${first.path === '' ? 'the body' : first.path} ${first.message}${more}` : ''
  return problem(kind, detail, { errors })
}

const KIND_OF_CODE = {
  invalid: 'invalid',
  'unknown-type': 'unknown-type',
  'too-large': 'too-large',
  refused: 'conflict',
  unstorable: 'invalid',
  unreadable: 'unreadable',
  'newer-schema': 'newer-schema',
  contended: 'unavailable',
  unavailable: 'unavailable',
  misconfigured: 'internal',
} as const satisfies Record<ErrorCode, ProblemKind>

/** The problem of a thrown error. An unexpected error shows only the request id under which the log describes it. */
export function problemOfError(error: unknown, requestId: string): Problem {
  const kind = error instanceof BatonError ? KIND_OF_CODE[error.code] : 'internal'
  if (kind === 'internal') {
    const detail = `an unexpected error; the log describes it under request ${requestId}`
    return problem(kind, detail, { requestId })
  }
  const { message, problems } = error as BatonError
  if (kind === 'unavailable') return problem(kind, `${message}; try again in a moment`, { requestId })
  return problem(kind, message, { requestId, ...(problems.length > 0 && { errors: problems }) })
}

export function tooLargeBody(): Problem {
  return problem('too-large', `the body has more than ${REQUEST_BYTES_MAX} bytes; send less at a time`)
}

const CANVAS_IDS = taskIdPrefix(CANVAS_TYPE)
const SCHEDULE_IDS = taskIdPrefix(SCHEDULE_TYPE)

export function noSuchTask(id: string): Problem {
  if (!splitTaskId(id))
    return problem('not-found', `'${id}' is not a task id: give type:key, such as resize:img-1`)
  return problem('not-found', `there is no task ${id}${otherResource(id)}`)
}

function otherResource(id: string): string {
  if (id.startsWith(CANVAS_IDS)) return `; it is the id of a canvas: use ${pathOf('getCanvas', id)}`
  if (!id.startsWith(SCHEDULE_IDS)) return ''
  const name = id.slice(SCHEDULE_IDS.length)
  return `; it is the id of a schedule: use ${pathOf('getSchedule', name)}`
}

export function unknownType(type: string, existing: readonly string[], path: string): Problem {
  return unknownTypes([{ type, path }], existing)
}

/** The problem of unknown types. Its detail names the first one, its `errors` name all. */
export function unknownTypes(unknown: readonly UnknownType[], existing: readonly string[], at = ''): Problem {
  const [first] = unknown
  const errors = unknown.map(({ type, path }) => ({
    path: joinPath(at, [path]),
    message: reservedProblem(type) ?? unknownTypeProblem(type, existing),
  }))
  const more = unknown.length > 1 ? ` (and ${unknown.length - 1} more)` : ''
  const { type = '', path = '' } = first ?? {}
  const where = path === 'type' || path === '' ? '' : ` in ${joinPath(at, [path])}`
  const detail = reservedProblem(type) ?? `'${type}'${where} is not registered${thereAre(type, existing)}`
  return problem('unknown-type', `${detail}${more}`, { errors })
}

function reservedProblem(type: string): string | undefined {
  const reason = reservedFor(type)
  return reason && `'${type}' is not a task type: it ${reason}`
}

/** Returns the problem of a refused publish. `at` is the path of its body in the request. */
export function publishProblem(
  outcome: Extract<PublishOutcome, { ok: false }>,
  requestId: string,
  at = '',
): Problem {
  switch (outcome.reason) {
    case 'unknown-type':
      return unknownTypes(outcome.unknown, outcome.existing, at)
    case 'invalid':
      return invalid(outcome.problems.map(({ path, message }) => ({ path: joinPath(at, [path]), message })))
    case 'running':
      return problem('conflict', `${outcome.task.id} exists and ${activityOf(outcome.task)}`)
    case 'error':
      return problemOfError(outcome.error, requestId)
  }
}

type OperationRefusal = Extract<
  OperateOutcome<'finished' | 'undoing' | 'owes-nothing' | RetryRefusal>,
  { ok: false }
>

const REFUSED = {
  'not-finished': 'waits for a run; only finished tasks can start over',
  'owes-nothing': 'owes no callbacks, so "retry-callbacks" has nothing to publish',
  undoing: 'is undoing its steps, which cannot be cancelled; remove the task to end the undoing',
  'not-a-flow': 'is not a flow; only action "restart" applies to it',
  'not-failed': 'has not failed; this action resumes failed flows only',
  'no-failed-undo': 'has no failed undo to retry or to skip',
  'nothing-to-do': 'has all the successes that it needs; name "succeeded" in clean to forget them',
} as const

/** The problem of a task that cannot be cancelled, changed or started over. */
export function operationProblem(id: string, refusal: OperationRefusal): Problem {
  const conflict = (detail: string) => problem('conflict', `${id} ${detail}`)
  switch (refusal.reason) {
    case 'unknown':
      return noSuchTask(id)
    case 'finished':
      return conflict(`has ended as ${refusal.task.state}; only open tasks can be changed or cancelled`)
    case 'running':
      return conflict(`${activityOf(refusal.task)}; cancel it first, or wait for its end`)
    case 'owes':
      return owedCallbacks(id, refusal.task)
    case 'stale':
      return staleProblem(id, refusal.task)
    case 'undone':
      return conflict(`cannot continue: ${undoneSteps(refusal.task)}; only "restart" does all steps again`)
    case 'restart-only':
      return conflict(
        `is a flow that has ${refusal.task.state}; ${refusal.task.state === 'failed' ? '"clean"' : 'a retry'} needs action "restart", which does all steps again`,
      )
    default:
      return conflict(REFUSED[refusal.reason])
  }
}

/** The problem of a request whose `ifRevision` is not the present revision of `name`. Its detail names the last change. */
export function staleProblem(name: string, present: Edited | undefined): Problem {
  const revision = editsOf(present ?? {})
  const last = present && lastEdit(present)
  const change = last ? `; ${last.by} changed it last (${last.what}) at ${iso(last.at)}` : ''
  const state = present ? `has revision ${revision}` : 'does not exist, which counts as revision 0'
  const detail = `${name} ${state}, not the revision that the request names${change}; read it again, then decide`
  return problem('stale-revision', detail, { revision })
}

/** Returns the problem of a task whose callbacks wait for their publishing or cannot be published. */
function owedCallbacks(id: string, { unpublished }: Task): Problem {
  if (!unpublished) {
    const detail = `${id} has ended, but its callbacks are still to be published; try again in a moment`
    return problem('conflict', detail)
  }
  const [first] = unpublished.problems
  const why = first ? `: ${first.path} ${first.message}` : ''
  const help = 'change the type and use action "retry-callbacks", or remove the task to drop them'
  return problem('conflict', `${id} owes callbacks that cannot be published${why}; ${help}`, {
    errors: unpublished.problems,
  })
}

function undoneSteps({ flow }: Task): string {
  const failed = flow?.definition.steps[flow.reachedStep]?.name
  const undone = flow ? undoneBefore(flow).map(name => `"${name}"`) : []
  const steps = undone.length === 1 ? `the step ${undone[0]} counts` : `the steps ${undone.join(', ')} count`
  return `${steps} as undone, and came before the failed step "${failed}"`
}

/** Says why a task counts as running: its workers, its owed callbacks, or its flow's next step. */
function activityOf(task: Task): string {
  const workers = liveRuns(task).map(run => run.workerId)
  if (task.owes) return 'has ended, but its callbacks are still to be published'
  return workers.length > 0 ? `is run by ${workers.join(', ')}` : 'is a running flow between two of its runs'
}

const WHY_RUN_ENDED = {
  lost: 'its lease ended without a heartbeat and it was recorded as lost',
  cancelled: 'it was cancelled',
  removed: 'the task was removed or started over',
  excluded: "the task's workerIds no longer name its worker",
  'timed-out': 'it ran longer than its time limit',
} as const

export function runProblem(taskId: string, runId: string, refusal: RunRefusal): Problem {
  if (refusal.reason === 'unknown') return noSuchTask(taskId)
  if (refusal.reason === 'unknown-run') return noSuchRun(taskId, runId)
  const { reason, holder, end } = refusal
  const now = holder === undefined ? '' : `; ${holder} holds the task now`
  return problem('conflict', `run ${runId} of ${taskId} is over: ${whyEnded(refusal)}${now}`, {
    reason,
    ...(holder !== undefined && { holder }),
    ...(end && { run: presentEnd(end) }),
  })
}

export function noSuchRun(taskId: string, runId: string): Problem {
  return problem('not-found', `there is no run ${runId} of a task ${taskId}`)
}

function whyEnded({ reason, end }: Extract<RunRefusal, { reason: RunGone }>): string {
  if (reason !== 'ended') return WHY_RUN_ENDED[reason]
  if (!end) return 'it has ended, and its record is no longer kept, so the report cannot be compared with it'
  const { state, endedAt } = end
  return `its worker has reported its end: the run ${HOW_ENDED[state]} at ${iso(endedAt)}; only the same report is accepted again`
}

const HOW_ENDED = {
  succeeded: 'succeeded',
  failed: 'failed',
  released: 'was released',
  lost: 'was lost',
  cancelled: 'was cancelled',
} as const satisfies Record<EndedRunState, string>

/**
 * The recorded end of a run, without its stack and without a result that is stored apart. Refusals of 100 runs must fit one
 * answer, and the task shows these parts.
 */
function presentEnd({ state, endedAt, result, error, piece }: RecordedEnd): NonNullable<Problem['run']> {
  return {
    state,
    endedAt: iso(endedAt),
    ...(result && 'inline' in result && { result: result.inline }),
    ...(error && { error: { name: error.name, message: error.message } }),
    ...(piece !== undefined && { stage: piece }),
  }
}
