import { type Claim, type ClaimsBody, claimsAnswer, claimsBody } from '../../api/runs.ts'
import { isItemFault } from '../../core/errors.ts'
import { defined } from '../../core/values/defined.ts'
import { type ClaimedTask, releaseClaim } from '../../runtime/claim/claimed-task.ts'
import { type ClaimsRequest, claimOverHttp } from '../../runtime/claim/http-claims.ts'
import { isolateEach } from '../../runtime/kernel/heads.ts'
import { describeHead } from '../../runtime/read/read.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { presentClaim } from '../present/claims.ts'
import { invalid, problem } from '../present/problems.ts'
import { unknownType } from '../present/refusal-problems.ts'

const DEFAULT_LIMIT = 1

export const claimOperations = [
  operation({
    name: 'claim',
    tag: 'Work',
    summary: 'Claim tasks',
    description:
      'Takes tasks of types of kind `http` for a worker, in the order of their type. The tasks come back `running`, with their input. With `waitMs` the call waits for work. An answer without tasks may have `retryAfterMs`: wait that long before the next claim. A call with a `requestId` may be repeated within the lease, and returns the same claims.',
    cost: 'For 1 task of 100 that wait some 6 units of the table and 6 of its indexes, for 10 tasks some 15 and 22. A `requestId` adds 2 write units.',
    answers: { 200: { description: 'The claimed tasks, in the order of their type.', schema: claimsAnswer } },
    problems: ['unknown-type', 'conflict', 'too-many-waiting'],
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
