import { patchBody, type RetryTaskBody, retryBody } from '../../../shared/api/changes.ts'
import { taskPath } from '../../../shared/api/paths.ts'
import { type ExpectedRevision, expectedRevision } from '../../../shared/api/scalars.ts'
import { type ListQuery, listQuery } from '../../../shared/api/tasks.ts'
import { listPage } from '../../../shared/present/lists.ts'
import { invalid } from '../../../shared/present/problems.ts'
import { noSuchTask, operationProblem } from '../../../shared/present/refusal-problems.ts'
import { presentTask } from '../../../shared/present/tasks.ts'
import { fieldProblems, patchRequestOf, sizeProblem } from '../../../shared/requests/publish-requests.ts'
import {
  cancelTask,
  type OperateOutcome,
  removeTask,
  restartTask,
  resumeTask,
  retryCallbacks,
} from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { describeHead, readTask } from '../../../shared/runtime/read/read.ts'
import { isTaskId } from '../requests/task-ids.ts'
import { type Answer, type Api, answerProblem, type Call, route } from '../route.ts'

const PATH = '/v1/tasks/{id}'

export const taskRoutes = [
  route({
    method: 'get',
    path: '/v1/tasks',
    operation: 'list',
    query: listQuery,
    handle: handleList,
  }),
  route({
    method: 'get',
    path: PATH,
    operation: 'get',
    handle: handleGet,
  }),
  route({
    method: 'patch',
    path: PATH,
    operation: 'patch',
    recordedAs: 'patch',
    body: patchBody,
    handle: handlePatch,
  }),
  route({
    method: 'delete',
    path: PATH,
    operation: 'remove',
    query: expectedRevision,
    handle: handleRemove,
  }),
  route({
    method: 'post',
    path: `${PATH}/cancel`,
    operation: 'cancel',
    recordedAs: 'cancel',
    body: expectedRevision,
    isBodyOptional: true,
    handle: handleCancel,
  }),
  route({
    method: 'post',
    path: `${PATH}/retry`,
    operation: 'retry',
    body: retryBody,
    isBodyOptional: true,
    handle: handleRetry,
  }),
]

async function handleList(call: Call<ListQuery, unknown>): Promise<Answer> {
  const listed = await listPage(call.system, call, call.query)
  return listed.ok ? { status: 200, body: listed.page } : answerProblem(listed.problem)
}

type OneCall<Body> = Call<unknown, Body>

async function handleGet(call: OneCall<unknown>): Promise<Answer> {
  const id = call.params.id ?? ''
  const found = isTaskId(id) ? await readTask(call.system, call, id) : undefined
  return found ? { status: 200, body: presentTask(found) } : answerProblem(noSuchTask(id))
}

async function handlePatch(call: OneCall<Parameters<typeof patchRequestOf>[0]>): Promise<Answer> {
  const { system, params, body } = call
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const problems = fieldProblems(body, system.clock.now())
  if (problems.length > 0) return answerProblem(invalid(problems))
  const tooLarge = sizeProblem(body.input, 'input')
  if (tooLarge) return answerProblem(invalid([tooLarge], 'too-large'))
  const outcome = await patchTask(system, id, patchRequestOf(body), body)
  if (!outcome.ok && outcome.reason === 'invalid') return answerProblem(invalid(outcome.problems))
  return answerOperated(call, id, outcome)
}

async function handleRemove({ system, params, query }: Call<ExpectedRevision, unknown>): Promise<Answer> {
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const outcome = await removeTask(system, id, query)
  return outcome.ok ? { status: 204 } : answerProblem(operationProblem(id, outcome))
}

async function handleCancel(call: OneCall<ExpectedRevision>): Promise<Answer> {
  const id = call.params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  return answerOperated(call, id, await cancelTask(call.system, id, call.body))
}

async function handleRetry(call: OneCall<RetryTaskBody>): Promise<Answer> {
  const { system, params, body, principal } = call
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const { action = 'restart', clean } = body
  if (action !== 'restart' && clean) {
    return answerProblem(invalid([{ path: 'clean', message: 'is for action "restart" only' }]))
  }
  const operator = { by: principal, what: action === 'restart' ? 'retry' : action }
  const outcome = await applyRetry({ ...system, operator }, id, body)
  const answer = await answerOperated(call, id, outcome)
  return outcome.ok ? { ...answer, headers: { location: taskPath(id) } } : answer
}

function applyRetry(
  system: Api['system'],
  id: string,
  { action = 'restart', clean, ...expected }: RetryTaskBody,
): Promise<OperateOutcome<Exclude<AnyRefusal['reason'], 'unknown'>>> {
  if (action === 'restart') return restartTask(system, id, clean, expected)
  return action === 'retry-callbacks'
    ? retryCallbacks(system, id, expected)
    : resumeTask(system, id, action, expected)
}

type AnyRefusal = Parameters<typeof operationProblem>[1]

async function answerOperated(
  api: Api,
  id: string,
  outcome: OperateOutcome<Exclude<AnyRefusal['reason'], 'unknown'>>,
): Promise<Answer> {
  if (!outcome.ok) return answerProblem(operationProblem(id, outcome))
  return { status: 200, body: { task: presentTask(await describeHead(api.system, api, outcome.task)) } }
}
