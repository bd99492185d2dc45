import { taskPath } from '../../../shared/api/paths.ts'
import type { Problem } from '../../../shared/api/problems.ts'
import { type PublishResult, publishBody, publishManyBody } from '../../../shared/api/publish.ts'
import { joinPath } from '../../../shared/core/rules/rules.ts'
import { invalid } from '../../../shared/present/problems.ts'
import { publishProblem } from '../../../shared/present/refusal-problems.ts'
import { presentTask } from '../../../shared/present/tasks.ts'
import {
  callbacksSizeProblem,
  fieldProblems,
  publishRequestOf,
  sizeProblem,
} from '../../../shared/requests/publish-requests.ts'
import { type PublishOutcome, publish, publishMany } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { describeHead } from '../../../shared/runtime/read/read.ts'
import { check, checkSchema } from '../check.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

type PublishCall = Call<unknown, unknown>

export const publishRoutes = [
  route({
    method: 'post',
    path: '/v1/tasks',
    operation: 'publish',
    handlerChecksBody: true,
    handle: call => (isMany(call.body) ? refuseMany() : handleOne(call)),
  }),
  route({
    method: 'post',
    path: '/v1/tasks/batch',
    operation: 'publishMany',
    handlerChecksBody: true,
    handle: handleMany,
  }),
]

function isMany(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, 'tasks')
}

async function refuseMany(): Promise<Answer> {
  const message = 'is not a field of one task: publish many tasks with POST /v1/tasks/batch'
  return answerProblem(invalid([{ path: 'tasks', message }]))
}

async function handleOne(call: PublishCall): Promise<Answer> {
  const request = requestOf(call, call.body, '')
  if (!request.ok) return answerProblem(request.problem)
  const outcome = await publish(call.system, request.value)
  if (!outcome.ok) return answerProblem(publishProblem(outcome, call.requestId))
  const { task, created } = outcome
  const shown = presentTask(await describeHead(call.system, call, task))
  const { input } = request.value
  // A new task was stored with this input. An existing task may have another one.
  const body = { id: task.id, created, task: created && input !== undefined ? { ...shown, input } : shown }
  return created ? { status: 201, body, headers: { location: taskPath(task.id) } } : { status: 200, body }
}

async function handleMany(call: PublishCall): Promise<Answer> {
  const body = checkSchema(publishManyBody, call.body)
  if (!body.ok) return answerProblem(invalid(body.problems))
  const members = body.value.tasks.map((member, index) => requestOf(call, member, `tasks.${index}`))
  const valid = members.flatMap((member, index) => (member.ok ? [{ index, request: member.value }] : []))
  const outcomes = await publishMany(
    call.system,
    valid.map(({ request }) => request),
  )
  const byIndex = new Map(valid.map(({ index }, nth) => [index, outcomes[nth]]))
  const results = await Promise.all(
    members.map(async (member, index): Promise<PublishResult> => {
      if (!member.ok) return { status: member.problem.status, problem: member.problem }
      const outcome = byIndex.get(index)
      if (!outcome) throw new Error(`no outcome for tasks.${index}`)
      return resultOf(call, outcome, `tasks.${index}`)
    }),
  )
  return { status: 200, body: { results } }
}

async function resultOf(call: PublishCall, outcome: PublishOutcome, at: string): Promise<PublishResult> {
  if (!outcome.ok) {
    if (outcome.reason === 'error')
      call.system.log.warn('a member of a batch failed', { error: outcome.error })
    const problem = publishProblem(outcome, call.requestId, at)
    return { status: problem.status, problem }
  }
  const { created, task } = outcome
  const shown = presentTask(await describeHead(call.system, call, task, true))
  return { status: created ? 201 : 200, id: task.id, created, task: shown }
}

type Requested =
  | { readonly ok: true; readonly value: PublishRequest }
  | { readonly ok: false; readonly problem: Problem }

function requestOf(call: PublishCall, body: unknown, at: string): Requested {
  const checked = check(publishBody, body, at)
  if (!checked.ok) return { ok: false, problem: invalid(checked.problems) }
  const problems = fieldProblems(checked.value, call.system.clock.now(), at)
  if (problems.length > 0) return { ok: false, problem: invalid(problems) }
  const tooLarge =
    sizeProblem(checked.value.input, joinPath(at, ['input'])) ?? callbacksSizeProblem(checked.value, at)
  if (tooLarge) return { ok: false, problem: invalid([tooLarge], 'too-large') }
  return { ok: true, value: publishRequestOf(checked.value, call.headers, call.principal) }
}
