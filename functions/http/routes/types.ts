import { type CountsQuery, countsQuery } from '../../../shared/api/diagnosis/load.ts'
import { typePath } from '../../../shared/api/paths.ts'
import type { Problem } from '../../../shared/api/problems.ts'
import {
  type ExpectedRevision,
  expectedRevision,
  type PageQuery,
  pageQuery,
  typeName,
} from '../../../shared/api/scalars.ts'
import { type PurgeBody, purgeBody, type TypeBody, typeBody } from '../../../shared/api/types.ts'
import { defined } from '../../../shared/core/defined.ts'
import { configurationProblems, typeNameProblems } from '../../../shared/core/rules/type-configuration.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { iso } from '../../../shared/present/iso.ts'
import { invalid, problem } from '../../../shared/present/problems.ts'
import { staleProblem, unknownType } from '../../../shared/present/refusal-problems.ts'
import { presentPaused, presentType } from '../../../shared/present/types.ts'
import { PURGES_MAX, startPurge } from '../../../shared/runtime/jobs/start-purge.ts'
import { countTasks } from '../../../shared/runtime/list/count-tasks.ts'
import { pauseType, resumeType } from '../../../shared/runtime/types/pause-type.ts'
import { registeredNames } from '../../../shared/runtime/types/registered-names.ts'
import { type PutTypeOutcome, putType } from '../../../shared/runtime/types/types.ts'
import { pageByName } from '../page-by-name.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const PATH = '/v1/types/{type}'

export const typeRoutes = [
  route({
    method: 'get',
    path: '/v1/types',
    operation: 'listTypes',
    query: pageQuery,
    handle: handleList,
  }),
  route({
    method: 'get',
    path: PATH,
    operation: 'getType',
    handle: handleGet,
  }),
  route({
    method: 'put',
    path: PATH,
    operation: 'putType',
    recordedAs: 'put',
    body: typeBody,
    handle: handlePut,
  }),
  route({
    method: 'post',
    path: `${PATH}/pause`,
    operation: 'pauseType',
    recordedAs: 'pause',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handlePause(call, pauseType),
  }),
  route({
    method: 'post',
    path: `${PATH}/resume`,
    operation: 'resumeType',
    recordedAs: 'resume',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handlePause(call, resumeType),
  }),
  route({
    method: 'get',
    path: `${PATH}/counts`,
    operation: 'counts',
    query: countsQuery,
    handle: handleCounts,
  }),
  route({
    method: 'post',
    path: `${PATH}/purge`,
    operation: 'purge',
    recordedAs: 'purge',
    body: purgeBody,
    handle: handlePurge,
  }),
]

async function handleList({ system, query }: Call<PageQuery, unknown>): Promise<Answer> {
  const page = pageByName(
    await system.types.list(),
    query,
    ({ type }) => type,
    text => typeName.safeParse(text).success,
  )
  if (!page.ok) return answerProblem(invalid(page.problems))
  const { ok: _ok, items, ...rest } = page
  return { status: 200, body: { items: items.map(presentType), ...rest } }
}

type OneCall<Body> = Call<unknown, Body>

async function handleGet(call: OneCall<unknown>): Promise<Answer> {
  const type = await findType(call)
  return type ? { status: 200, body: presentType(type) } : answerUnknown(call)
}

async function handleCounts(call: Call<CountsQuery, unknown>): Promise<Answer> {
  const type = await findType(call)
  if (!type) return answerUnknown(call)
  return { status: 200, body: await countTasks(call.system, type, call.query.atMost) }
}

async function handlePause(call: OneCall<ExpectedRevision>, change: typeof pauseType): Promise<Answer> {
  const { type = '' } = call.params
  if (!typeName.safeParse(type).success) return answerUnknown(call)
  const outcome = await change(call.system, type, call.body)
  if (outcome.ok) return { status: 200, body: presentPaused(outcome.type) }
  return outcome.reason === 'stale' ? answerProblem(staleProblem(type, outcome.type)) : answerUnknown(call)
}

/** Starts a purge. A `before` in the future would also remove tasks that are published later, so it is set to now. */
async function handlePurge(call: OneCall<PurgeBody>): Promise<Answer> {
  const { system, body } = call
  const type = await findType(call)
  if (!type) return answerUnknown(call)
  const askedAt = system.clock.now()
  const before = Math.min(askedAt, body.before === undefined ? askedAt : Date.parse(body.before))
  const statuses = [...new Set(body.status)]
  const started = await startPurge(system, type.type, { statuses, before, askedAt })
  if (!started.ok && started.reason === 'unknown') return answerUnknown(call)
  if (!started.ok) {
    const detail = `${type.type} already has ${PURGES_MAX} purges under way; try again when one of them is over`
    return answerProblem(problem('conflict', detail))
  }
  return { status: 202, body: { type: type.type, status: statuses, before: iso(before) } }
}

async function findType({ system, params: { type = '' } }: OneCall<unknown>) {
  return typeName.safeParse(type).success ? system.types.get(type) : undefined
}

async function answerUnknown({ system, params: { type = '' } }: OneCall<unknown>): Promise<Answer> {
  return answerProblem(unknownType(type, await registeredNames(system), 'type'))
}

async function handlePut(call: OneCall<TypeBody>): Promise<Answer> {
  const { system, params, body } = call
  const { type = '' } = params
  const problems = [...typeNameProblems(type, 'type'), ...configurationProblems(body)]
  if (problems.length > 0) return answerProblem(invalid(problems))
  const { defaults = {}, ifRevision, ...rest } = body
  const outcome = await putType(system, type, { ...rest, defaults }, defined({ ifRevision }))
  return outcome.ok ? answerPut(outcome.type, outcome.created) : answerProblem(putProblem(type, outcome))
}

/** The problem of a refused configuration. */
function putProblem(type: string, refusal: Extract<PutTypeOutcome, { ok: false }>): Problem {
  switch (refusal.reason) {
    case 'invalid':
      return invalid(refusal.problems)
    case 'stale':
      return staleProblem(type, refusal.type)
    case 'fewer-shards': {
      const { shards } = refusal
      return problem('conflict', `${type} has ${shards} shards; they may only grow`, {
        errors: [{ path: 'shards', message: `must be at least ${shards}` }],
      })
    }
    case 'deployed-kind': {
      const { kind } = refusal
      const message = `must be "${kind}": the type is deployed with that kind, and only a deployment can change it`
      return problem('conflict', `kind of ${type} ${message}`, { errors: [{ path: 'kind', message }] })
    }
  }
}

function answerPut(type: TaskType, isCreated: boolean): Answer {
  const body = presentType(type)
  return isCreated ? { status: 201, body, headers: { location: typePath(type.type) } } : { status: 200, body }
}
