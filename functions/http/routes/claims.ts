import { type Claim, type ClaimsBody, claimsBody } from '../../../shared/api/runs.ts'
import { defined } from '../../../shared/core/defined.ts'
import { isItemFault } from '../../../shared/core/errors.ts'
import { presentClaim } from '../../../shared/present/claims.ts'
import { invalid, problem } from '../../../shared/present/problems.ts'
import { unknownType } from '../../../shared/present/refusal-problems.ts'
import { type ClaimedTask, releaseClaim } from '../../../shared/runtime/claim/claimed-task.ts'
import { type ClaimsRequest, claimOverHttp } from '../../../shared/runtime/claim/http-claims.ts'
import { isolateEach } from '../../../shared/runtime/kernel/isolate-faults.ts'
import { describeHead } from '../../../shared/runtime/read/read.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const DEFAULT_LIMIT = 1

export const claimRoutes = [
  route({
    method: 'post',
    path: '/v1/claims',
    operation: 'claim',
    body: claimsBody,
    handle: handleClaim,
  }),
]

type Body = ClaimsBody

async function handleClaim(call: Call<unknown, Body>): Promise<Answer> {
  const { system, body } = call
  if ((body.type === undefined) === (body.types === undefined)) {
    return answerProblem(invalid([{ path: 'type', message: 'or types is required: one of the two' }]))
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

async function showClaim(call: Call<unknown, Body>, claimed: ClaimedTask): Promise<Claim> {
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

function requestOf({
  type,
  types = [],
  workerId,
  workerVersion,
  limit,
  requestId,
  waitMs,
}: Body): ClaimsRequest {
  return {
    types: type === undefined ? types : [type],
    claimer: { workerId, ...(workerVersion !== undefined && { version: workerVersion }) },
    limit: limit ?? DEFAULT_LIMIT,
    ...defined({ requestId, waitMs }),
  }
}
