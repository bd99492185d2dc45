import * as api from '../../api/index.ts'
import { isObject } from '../../core/rules/rules.ts'
import { rulingTypes } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { type PublishOutcome, publish, publishMany } from '../../runtime/publish/publish.ts'
import { type Answer, answerInvalid, answerProblem, type Call, checkRule, operationOf } from '../operation.ts'
import { limitNotes } from '../present/limit-notes.ts'
import { invalid, publishProblem } from '../present/problems.ts'
import { showTask } from '../present/tasks.ts'
import { checkingInputs } from '../requests/compare-inputs.ts'
import { type ReadPublish, readPublish } from '../requests/publish-requests.ts'

type PublishCall = Call<unknown, unknown>

const operation = operationOf('Tasks')

export const publishOperations = [
  operation({
    name: 'publish',
    summary: 'Publish a task',
    description:
      'Stores the task. A worker runs it when it is due. With a `key` the call may be repeated: a second publish of the key creates nothing, and `ifExists` says what else it does. An input that does not fit the `inputSchema` of its type is refused, unless the type has `checkInput: false`. A call without a key that is repeated creates a second task.',
    cost: '2 write units (3 for a type of kind `http`) and 1 read unit. An input of more than 200 bytes costs 1 further write unit per KB.',
    body: api.publishBody,
    answers: {
      200: { description: 'A task with this key exists. `task` shows it.', schema: api.publishAnswer },
      201: { description: 'The task was created.', schema: api.publishAnswer, location: 'the task' },
    },
    problems: ['unknown-type', 'conflict'],
    checksBody: true,
    handle: handleOne,
  }),
  operation({
    name: 'publishMany',
    summary: 'Publish up to 100 tasks',
    description:
      'Each task has its own result, in the order of the request. A task that is refused harms no other: its result has the `status` and the `problem` that a single publish would have answered.',
    cost: 'The sum of its publishes.',
    body: api.documentedPublishManyBody,
    answers: {
      200: { description: 'The results, in the order of the tasks.', schema: api.publishManyAnswer },
    },
    checksBody: true,
    handle: handleMany,
  }),
]

async function handleOne(call: PublishCall): Promise<Answer> {
  if (isObject(call.body) && Object.hasOwn(call.body, 'tasks')) {
    const message = 'is not a field of one task: publish many tasks with POST /v1/tasks/batch'
    return answerInvalid('tasks', message)
  }
  const request = requestOf(call, call.body, '')
  if (!request.ok) return answerProblem(request.problem)
  const outcome = await publish(checkingInputs(call.system), request.request)
  if (!outcome.ok) return answerProblem(publishProblem(outcome, call.requestId))
  const { task, created } = outcome
  const shown = await showTask(call, task)
  const { input } = request.body
  // A new task was stored with this input. An existing task may have another one.
  const body = {
    id: task.id,
    created,
    task: created && input !== undefined ? { ...shown, input } : shown,
    ...(await notesOn(call, task)),
  }
  return created
    ? { status: 201, body, headers: { location: api.pathOf('get', task.id) } }
    : { status: 200, body }
}

async function handleMany(call: PublishCall): Promise<Answer> {
  const body = checkRule(api.publishManyBody, call.body)
  if (!body.ok) return answerProblem(invalid(body.problems))
  const members = body.value.tasks.map((member, index) => requestOf(call, member, `tasks.${index}`))
  const valid = members.flatMap((member, index) => (member.ok ? [{ index, request: member.request }] : []))
  const outcomes = await publishMany(
    checkingInputs(call.system),
    valid.map(({ request }) => request),
  )
  const byIndex = new Map(valid.map(({ index }, nth) => [index, outcomes[nth]]))
  const results = await Promise.all(
    members.map(async (member, index): Promise<api.PublishResult> => {
      if (!member.ok) return { status: member.problem.status, problem: member.problem }
      const outcome = byIndex.get(index)
      if (!outcome) throw new Error(`no outcome for tasks.${index}`)
      return resultOf(call, outcome, `tasks.${index}`)
    }),
  )
  return { status: 200, body: { results } }
}

async function resultOf(call: PublishCall, outcome: PublishOutcome, at: string): Promise<api.PublishResult> {
  if (!outcome.ok) {
    if (outcome.reason === 'error')
      call.system.log.warn('a member of a batch failed', { error: outcome.error })
    const problem = publishProblem(outcome, call.requestId, at)
    return { status: problem.status, problem }
  }
  const { created, task } = outcome
  const shown = await showTask(call, task, true)
  return { status: created ? 201 : 200, id: task.id, created, task: shown, ...(await notesOn(call, task)) }
}

async function notesOn({ typeOf }: PublishCall, task: Task): Promise<Pick<api.PublishAnswer, 'notes'>> {
  const notes = limitNotes(task, await Promise.all(rulingTypes(task).map(typeOf)))
  return notes.length > 0 ? { notes } : {}
}

function requestOf(call: PublishCall, body: unknown, at: string): ReadPublish {
  const { system, traceparent, principal } = call
  return readPublish(body, system.clock.now(), { at, trace: traceparent, by: principal })
}
