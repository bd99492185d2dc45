import * as api from '../../api/index.ts'
import { type ExpectedRevision, expectedRevision } from '../../api/scalars.ts'
import { areOpen } from '../../core/states.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { defined } from '../../core/values/values.ts'
import { listMembers } from '../../runtime/canvas/describe-canvas.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { type ListAnswer, listTasks } from '../../runtime/list/list.ts'
import type { ListFilter, ListOrder } from '../../runtime/list/list-query.ts'
import { cancelTask, type OperateOutcome, removeTask, retryCallbacks } from '../../runtime/operate/operate.ts'
import { patchTask } from '../../runtime/operate/patch-task.ts'
import { retryTask } from '../../runtime/operate/retry-task.ts'
import { readTask } from '../../runtime/read/read.ts'
import { allTypes, registeredNames } from '../../runtime/types/types.ts'
import type { Answer, Call, Parts } from '../operation.ts'
import { answerInvalid, answerProblem, operationOf, PAGE_ITEMS_DEFAULT, recording } from '../operation.ts'
import { invalid, noSuchTask, operationProblem, problem, unknownTypes } from '../present/problems.ts'
import { PRESENT_TASK, presentTask, showTask, showTasks } from '../present/tasks.ts'
import { checkingInputs } from '../requests/compare-inputs.ts'
import {
  emptySpanProblem,
  fieldProblems,
  forTask,
  patchRequestOf,
  sizeProblem,
} from '../requests/publish-requests.ts'

const operation = operationOf('Tasks')

export const readOperations = [
  operation({
    name: 'list',
    summary: 'List tasks',
    description:
      'Lists the tasks of types, of a user, of a canvas, or without any of these of every type. Items leave out input and result. A list may lag 2 seconds behind. Filters are applied to pages, so a page may have fewer tasks than `limit` and still have a `nextCursor`. Without `order` a list can have any number of tasks. An `order` by which too many tasks would have to be sorted is refused with 400, and the refusal names one that works.',
    cost: 'Half a read unit for each task that the page examines (at most 1,000 in an order that an index keeps, at most some 5,000 otherwise), and half a unit for each partition and for some 25 entries in it. A type has 4 partitions for each of its shards, and a flow 5, so a list of every type and status costs 8 units for each type with 4 shards.',
    answers: { 200: { description: 'One page of tasks.', schema: api.taskPage } },
    problems: ['not-found', 'unknown-type'],
    query: api.listQuery,
    handle: handleList,
  }),
  operation({
    name: 'get',
    summary: 'Get a task',
    description: 'Shows the task with its input, its result, its errors and its runs.',
    cost: '1 read unit for a plain task. An input, a result or runs that are stored in items of their own cost 1 read unit per 4 KB.',
    answers: { 200: { description: 'The task.', schema: api.task } },
    problems: ['not-found'],
    handle: forTask(handleGet),
  }),
]

export const taskOperations = [
  ...readOperations,
  operation({
    name: 'patch',
    summary: 'Change an open task',
    description:
      'Changes what the body names, and leaves the rest. `null` returns an option to the default of the type, and `tags: null` removes all tags. A task that has ended is refused with 409.',
    answers: PRESENT_TASK,
    problems: ['not-found', 'conflict', 'stale-revision'],
    recordedAs: 'patch',
    body: api.patchBody,
    handle: forTask(handlePatch),
  }),
  operation({
    name: 'remove',
    summary: 'Remove a task',
    description:
      'The task never runs again, and its record is deleted. The handler of a run under way is aborted. A task that was removed already is answered with 404.',
    answers: { 204: { description: 'The task is removed.' } },
    problems: ['not-found', 'stale-revision'],
    query: expectedRevision,
    handle: forTask(handleRemove),
  }),
  operation({
    name: 'cancel',
    summary: 'Cancel a task',
    description:
      'Stops the task and keeps its record. The handler of a run under way is aborted. A flow undoes the steps that were done, unless its type says otherwise. The call may be repeated. A task that has ended in another way is refused with 409.',
    answers: { 200: { description: 'The cancelled task.', schema: api.taskAnswer } },
    problems: ['not-found', 'conflict', 'stale-revision'],
    recordedAs: 'cancel',
    body: expectedRevision,
    isBodyOptional: true,
    handle: forTask(handleCancel),
  }),
  operation({
    name: 'retry',
    isAttending: true,
    summary: 'Retry a task',
    description:
      'Tries an ended task again: `action` says how. Without an action a plain task starts over, and a failed flow tries again what has failed, an undo or a step; no step that is done is done again. The task has its whole budget of retries again. A restart keeps the former runs on record. A task for which the action is not possible is refused with 409, and so is a flow that has not failed or is undone, unless the action is named.',
    answers: { 200: { description: 'The task as it is now.', schema: api.taskAnswer, location: 'the task' } },
    problems: ['not-found', 'conflict', 'stale-revision'],
    body: api.retryBody,
    isBodyOptional: true,
    handle: forTask(handleRetry),
  }),
]

type OneCall<Body> = Call<unknown, Body>

async function handleGet(call: OneCall<unknown>, id: string): Promise<Answer> {
  const found = await readTask(call.system, call, id)
  return found ? { status: 200, body: presentTask(found) } : answerProblem(noSuchTask(id))
}

async function handlePatch(call: OneCall<Parameters<typeof patchRequestOf>[0]>, id: string): Promise<Answer> {
  const { system, body } = call
  const problems = fieldProblems(body, system.clock.now())
  if (problems.length > 0) return answerProblem(invalid(problems))
  const tooLarge = sizeProblem(body.input, 'input')
  if (tooLarge) return answerProblem(invalid([tooLarge], 'too-large'))
  const outcome = await patchTask(checkingInputs(system), id, patchRequestOf(body), body)
  if (!outcome.ok && outcome.reason === 'invalid') return answerProblem(invalid(outcome.problems))
  return answerOperated(call, id, outcome)
}

async function handleRemove({ system, query }: Call<ExpectedRevision, unknown>, id: string): Promise<Answer> {
  const outcome = await removeTask(system, id, query)
  return outcome.ok ? { status: 204 } : answerProblem(operationProblem(id, outcome))
}

async function handleCancel(call: OneCall<ExpectedRevision>, id: string): Promise<Answer> {
  return answerOperated(call, id, await cancelTask(call.system, id, call.body))
}

async function handleRetry(call: OneCall<api.RetryTaskBody>, id: string): Promise<Answer> {
  const { system, body, principal } = call
  const { action, clean } = body
  if (action !== undefined && action !== 'restart' && clean) {
    return answerInvalid('clean', 'is for action "restart" only')
  }
  const outcome = await applyRetry(recording(system, principal, action ?? 'retry'), id, body)
  const answer = await answerOperated(call, id, outcome)
  return outcome.ok ? { ...answer, headers: { location: api.pathOf('get', id) } } : answer
}

function applyRetry(
  system: System,
  id: string,
  { action, clean, ...expected }: api.RetryTaskBody,
): Promise<OperateOutcome<Exclude<AnyRefusal['reason'], 'unknown'>>> {
  return action === 'retry-callbacks'
    ? retryCallbacks(system, id, expected)
    : retryTask(system, id, expected, { action, clean })
}

type AnyRefusal = Parameters<typeof operationProblem>[1]

async function answerOperated(
  parts: Parts,
  id: string,
  outcome: OperateOutcome<Exclude<AnyRefusal['reason'], 'unknown'>>,
): Promise<Answer> {
  if (!outcome.ok) return answerProblem(operationProblem(id, outcome))
  return { status: 200, body: { task: await showTask(parts, outcome.task) } }
}

/** Answers with one page of a list, without inputs and results. The fields of the query are legal one by one. */
async function handleList(call: Call<api.ListQuery, unknown>): Promise<Answer> {
  const { system, query: filter } = call
  const { userId, canvasId, status = [], limit = PAGE_ITEMS_DEFAULT, cursor } = filter
  const emptySpan = emptySpanProblem(filter)
  if (emptySpan) return answerProblem(invalid([emptySpan]))
  const names = [...new Set(filter.type)].sort()
  const found = await Promise.all(names.map(name => system.types.get(name)))
  const unknown = names.filter((_name, index) => !found[index]).map(type => ({ type, path: 'type' }))
  if (unknown.length > 0) return answerProblem(unknownTypes(unknown, await registeredNames(system)))
  if (canvasId !== undefined) return answerMembers(call, canvasId, names)
  const isEveryType = names.length === 0 && userId === undefined
  const answer = await listTasks(system, {
    types: isEveryType ? await allTypes(system) : found.filter(type => type !== undefined),
    isEveryType,
    ...defined({ userId, cursor }),
    ...narrowing(filter),
    statuses: status,
    order: filter.order ?? defaultOrder(userId, status),
    limit,
  })
  return answerPage(call, answer)
}

function narrowing({ since, until, tag, error }: api.ListQuery): ListFilter {
  const timeIn = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))
  return defined({ since: timeIn(since), until: timeIn(until), tags: tag, error })
}

/** Returns an order in which any number of tasks can be listed. */
function defaultOrder(userId: string | undefined, statuses: readonly Status[]): ListOrder {
  if (userId !== undefined) return '-created'
  return areOpen(statuses) ? 'due' : 'ended'
}

async function answerMembers(
  call: Call<api.ListQuery, unknown>,
  canvasId: string,
  types: readonly string[],
): Promise<Answer> {
  const { status: statuses = [], order = 'created', limit = PAGE_ITEMS_DEFAULT, userId, cursor } = call.query
  const query = { canvasId, types, statuses, order, limit, ...defined({ userId, cursor }) }
  const answer = await listMembers(call.system, { ...query, ...narrowing(call.query) })
  if (answer) return answerPage(call, answer)
  return answerProblem(problem('not-found', `there is no canvas ${canvasId}`))
}

async function answerPage(parts: Parts, answer: ListAnswer): Promise<Answer> {
  if (!answer.ok) return answerProblem(invalid([answer.problem]))
  const items = await showTasks(parts, answer.tasks)
  return { status: 200, body: { items, ...defined({ nextCursor: answer.nextCursor }) } }
}
