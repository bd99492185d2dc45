import { type WhyQuery, whyAnswer, whyQuery } from '../../api/diagnosis/why.ts'
import type { DiagnosticSystem } from '../../runtime/kernel/system.ts'
import { readWhy } from '../../runtime/why/why.ts'
import { readWhyMember } from '../../runtime/why/why-member.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { problem } from '../present/problems.ts'
import { noSuchTask } from '../present/refusal-problems.ts'
import { isTaskId } from '../requests/task-ids.ts'
import { explainMember } from '../why/member.ts'
import { presentWhy } from '../why/present-why.ts'

export const whyOperations = [
  operation({
    name: 'why',
    tag: 'Tasks',
    summary: 'Explain why a task waits, runs or has ended',
    description:
      'Answers with one reason, one sentence that says what the task waits for, and what to do. The reasons have a table in the guide on waiting.',
    cost: 'At most 10 read units, one request to SQS and no write.',
    answers: { 200: { description: 'The reason.', schema: whyAnswer } },
    problems: ['not-found'],
    query: whyQuery,
    handle: handleWhy,
  }),
]

async function handleWhy(call: Call<WhyQuery, unknown, DiagnosticSystem>): Promise<Answer> {
  const { system, params, query } = call
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const why = await readWhy(system, call, id)
  if (why) return { status: 200, body: presentWhy(id, why) }
  const { canvasId } = query
  if (canvasId === undefined) return answerProblem(unpublishedMember(id))
  const member = await readWhyMember(system, id, canvasId)
  if (member) return { status: 200, body: { id, ...explainMember(member) } }
  return answerProblem(
    problem('not-found', `there is no task ${id}, and ${canvasId} has no member of this id`),
  )
}

/** The key of a member of a canvas: the birth of the canvas, and the number of the leaf. */
const MEMBER_ID = /:[0-9A-HJKMNP-TV-Z]{26}\.\d+$/

function unpublishedMember(id: string) {
  if (!MEMBER_ID.test(id)) return noSuchTask(id)
  const hint = `if it is a member of a canvas that is not published yet, give canvasId in the query`
  return problem('not-found', `there is no task ${id}; ${hint}`)
}
