import * as api from '../../api/index.ts'
import { DERIVED_KEY_CHARACTERS_MAX, TYPE_CHARACTERS_MAX } from '../../core/bounds.ts'
import type { Outcome } from '../../core/run/run.ts'
import { hasResultOf } from '../../core/task/piece.ts'
import { cut } from '../../core/task-error/task-error.ts'
import { defined, isItemFault } from '../../core/values/values.ts'
import { type ClaimedTask, releaseClaim } from '../../runtime/claim/claimed-task.ts'
import { type ClaimsRequest, claimOverHttp } from '../../runtime/claim/http-claims.ts'
import { isolateEach, sideBySideByName } from '../../runtime/kernel/heads.ts'
import { endOfRequest } from '../../runtime/kernel/system.ts'
import { describeHead } from '../../runtime/read/read.ts'
import type { Answer, Call, Checked } from '../operation.ts'
import { answerInvalid, answerProblem, checkRule, operationOf } from '../operation.ts'
import { invalid, problem, problemOfError, unknownType } from '../present/problems.ts'
import { PRESENT_TASK, presentClaim, presentHeartbeat, showTask } from '../present/tasks.ts'
import {
  failureOf,
  finishRun,
  heartbeatRun,
  newsOf,
  parseFinish,
  parseHeartbeat,
  type RunUpdate,
  releaseOf,
  successOf,
} from '../requests/apply-run-update.ts'

/** A report about a run that is over is answered so. */
const OVER =
  'A report about a run that is over is refused with 409: `reason` says why, and `holder` names the worker that has the task now.'

const REPEATABLE =
  'The same report may be repeated, and is answered with what is stored. A different report after the end of the run is refused with 409.'

const operation = operationOf('Work')

export const runOperations = [
  operation({
    name: 'heartbeat',
    summary: 'Renew the lease of a run',
    description: `A worker sends a heartbeat every \`heartbeatMs\` of the task's options. The answer shows the options in force, which a patch may have changed. ${OVER}`,
    answers: {
      200: { description: 'The new lease, and the options in force.', schema: api.heartbeatAnswer },
    },
    problems: ['not-found', 'conflict'],
    body: api.heartbeatBody,
    handle: handleHeartbeat,
  }),
  operation({
    name: 'succeed',
    summary: 'Report that a run has succeeded',
    description: `Ends the run and stores its result. With \`next\` the task continues in another stage. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: api.succeedBody,
    handle: call => handleFinish(call, successOf(call.body)),
  }),
  operation({
    name: 'fail',
    summary: 'Report that a run has failed',
    description: `Ends the run. The task is retried while it has retries left, unless the failure is \`fatal\`. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: api.failBody,
    handle: call => handleFinish(call, failureOf(call.body)),
  }),
  operation({
    name: 'release',
    summary: 'Give a task back',
    description: `Ends the run without success and without failure. No retry is counted. ${REPEATABLE}`,
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict'],
    body: api.releaseBody,
    handle: call => handleFinish(call, releaseOf(call.body)),
  }),
  operation({
    name: 'heartbeatMany',
    summary: 'Renew the leases of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single heartbeat would have answered, and its lease or its problem.',
    body: api.documentedHeartbeatsBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: api.heartbeatsAnswer } },
    checksBody: true,
    handle: call =>
      answerEach(call, parseHeartbeat, async (update, until) => {
        const renewed = await heartbeatRun(call, update, until)
        if (!renewed.ok) return renewed
        return { ok: true, shown: presentHeartbeat(renewed.task, update.fence, renewed.leaseUntil) }
      }),
  }),
  operation({
    name: 'finishMany',
    summary: 'Report the ends of up to 100 runs',
    description:
      'Each run has its own result, in the order of the request: the `status` that a single report would have answered, and its task or its problem. `outcome` says how the run ended.',
    body: api.documentedFinishBody,
    answers: { 200: { description: 'The results, in the order of the runs.', schema: api.finishesAnswer } },
    checksBody: true,
    handle: call =>
      answerEach(call, parseFinish, async (update, until) => {
        const ended = await finishRun(call.system, update, until)
        if (!ended.ok) return ended
        return { ok: true, shown: { task: await showTask(call, ended.task, true) } }
      }),
  }),
]

async function handleHeartbeat(call: Call<unknown, api.HeartbeatBody>): Promise<Answer> {
  const { id: taskId = '', runId = '' } = call.params
  const { fence } = call.body
  const renewed = await heartbeatRun(call, { taskId, runId, fence, content: newsOf(call.body) })
  if (!renewed.ok) return answerProblem(renewed.problem)
  return { status: 200, body: presentHeartbeat(renewed.task, fence, renewed.leaseUntil) }
}

async function handleFinish(call: Call<unknown, { fence: number }>, outcome: Outcome): Promise<Answer> {
  const { id: taskId = '', runId = '' } = call.params
  const { fence } = call.body
  const ended = await finishRun(call.system, { taskId, runId, fence, content: outcome })
  if (!ended.ok) return answerProblem(ended.problem)
  const { task } = ended
  const shown = await showTask(call, task)
  const isResultOfTask = outcome.outcome === 'succeed' && hasResultOf(task, fence)
  const result = isResultOfTask ? outcome.result : undefined
  return { status: 200, body: { task: { ...shown, ...(result !== undefined && { result }) } } }
}

export const claimOperations = [
  operation({
    name: 'claim',
    summary: 'Claim tasks',
    description:
      'Takes tasks of types of kind `http` for a worker, in the order of their type. The tasks come back `running`, with their input. With `waitMs` the call waits for work. An answer without tasks may have `retryAfterMs`: wait that long before the next claim. A call with a `requestId` may be repeated within the lease, and returns the same claims.',
    cost: 'For 1 task of 100 that wait some 6 units of the table and 6 of its indexes, for 10 tasks some 15 and 22. A `requestId` adds 2 write units.',
    answers: {
      200: { description: 'The claimed tasks, in the order of their type.', schema: api.claimsAnswer },
    },
    problems: ['unknown-type', 'conflict', 'too-many-waiting'],
    body: api.claimsBody,
    handle: handleClaim,
  }),
]

async function handleClaim(call: Call<unknown, api.ClaimsBody>): Promise<Answer> {
  const { system, body } = call
  if ((body.type === undefined) === (body.types === undefined)) {
    return answerInvalid('type', 'or types is required: one of the two')
  }
  const outcome = await claimOverHttp(system, requestOf(body), call.httpWorkers, call.claimPace)
  if (outcome.ok) {
    const claims = await isolateEach(system, outcome.claims, outcome.claims.length, claimed =>
      showClaim(call, claimed),
    )
    const { retryAfterMs } = outcome
    return { status: 200, body: { claims, ...(retryAfterMs !== undefined && { retryAfterMs }) } }
  }
  if (outcome.reason === 'too-many-waiting') return tooManyWaiting(outcome.retryAfterMs)
  if (outcome.reason === 'unknown-type') {
    const path = body.type === undefined ? `types.${body.types?.indexOf(outcome.type)}` : 'type'
    return answerProblem(unknownType(outcome.type, outcome.existing, path))
  }
  const { type, configuration } = outcome.type
  const isFlow = configuration.kind === 'flow'
  const help = isFlow
    ? 'done by the types of its steps: claim those'
    : 'served by its handler; only types of kind http can be claimed'
  const detail = `${type} is of kind ${configuration.kind} and ${help}`
  return answerProblem(problem('conflict', detail))
}

async function showClaim(call: Call<unknown, api.ClaimsBody>, claimed: ClaimedTask): Promise<api.Claim> {
  try {
    return presentClaim(claimed, await describeHead(call.system, call, claimed.task))
  } catch (error) {
    if (isItemFault(error)) await releaseClaim(call.system, claimed, 'it cannot be shown', error)
    throw error
  }
}

function tooManyWaiting(retryAfterMs: number): Answer {
  const detail = `no task can be claimed now, and too many workers wait; try again in ${retryAfterMs} ms`
  const seconds = String(Math.ceil(retryAfterMs / 1_000))
  return answerProblem(problem('too-many-waiting', detail, { retryAfterMs }), { 'retry-after': seconds })
}

function requestOf(body: api.ClaimsBody): ClaimsRequest {
  const { type, types = [], workerId, workerVersion, limit = 1, requestId, waitMs } = body
  return {
    types: type === undefined ? types : [type],
    claimer: { workerId, ...defined({ version: workerVersion }) },
    limit,
    ...defined({ requestId, waitMs }),
  }
}

const TASKS_AT_ONCE_MAX = 25

type MemberOutcome =
  | { readonly ok: true; readonly shown: object }
  | { readonly ok: false; readonly problem: api.Problem }

/**
 * Checks and applies each member. Members about the same task are applied one after the other, because they write the same
 * item. All members share the time of the request. A member that is not written by then is answered with 503.
 */
async function answerEach<Content>(
  call: Call<unknown, unknown>,
  parse: (value: unknown, at: string) => Checked<RunUpdate<Content>>,
  apply: (update: RunUpdate<Content>, until: number) => Promise<MemberOutcome>,
): Promise<Answer> {
  const body = checkRule(api.runsBody, call.body)
  if (!body.ok) return answerProblem(invalid(body.problems))
  const until = endOfRequest(call.system)
  const members = body.value.runs.map((value, index) => ({
    name: nameOf(value),
    update: parse(value, `runs.${index}`),
  }))
  const results = await sideBySideByName(
    members,
    TASKS_AT_ONCE_MAX,
    ({ name }) => name.taskId,
    async ({ name, update }): Promise<api.RunResult> => {
      const outcome = update.ok
        ? await orProblem(call, apply(update.value, until))
        : { ok: false as const, problem: invalid(update.problems) }
      return { ...name, ...(outcome.ok ? { status: 200, ...outcome.shown } : refusalOf(outcome.problem)) }
    },
  )
  return { status: 200, body: { results } }
}

/** Returns the task id and run id of a member for its result, even when the member is otherwise wrong. */
function nameOf(value: unknown): api.RunName {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  const { taskId, runId } = members
  return { taskId: nameIn(taskId), runId: nameIn(runId) }
}

const NAME_CHARACTERS_MAX = 2 * (TYPE_CHARACTERS_MAX + DERIVED_KEY_CHARACTERS_MAX)

function nameIn(value: unknown): string {
  return typeof value === 'string' ? cut(value, NAME_CHARACTERS_MAX) : ''
}

function refusalOf(problem: api.Problem) {
  const { status, reason, holder } = problem
  return { status, ...(reason && { reason }), ...(holder !== undefined && { holder }), problem }
}

/** Turns an error of one member into a problem, so that it harms no other member. */
async function orProblem(
  { system, requestId }: Call<unknown, unknown>,
  outcome: Promise<MemberOutcome>,
): Promise<MemberOutcome> {
  return outcome.catch(error => {
    system.log.warn('a member of a batch failed', { error, requestId })
    return { ok: false, problem: problemOfError(error, requestId) }
  })
}
