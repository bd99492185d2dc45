import { type WhyQuery, whyQuery } from '../../../shared/api/diagnosis/why.ts'
import { canvasPath, taskPath, typePath } from '../../../shared/api/paths.ts'
import { problem } from '../../../shared/present/problems.ts'
import { noSuchTask } from '../../../shared/present/refusal-problems.ts'
import { presentWhy } from '../../../shared/present/why.ts'
import { readWhy } from '../../../shared/runtime/why/why.ts'
import { readWhyMember } from '../../../shared/runtime/why/why-member.ts'
import { isTaskId } from '../requests/task-ids.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

export const whyRoutes = [
  route({
    method: 'get',
    path: '/v1/tasks/{id}/why',
    operation: 'why',
    query: whyQuery,
    handle: handleWhy,
  }),
]

const PATHS = { task: taskPath, type: typePath, canvas: canvasPath }

async function handleWhy(call: Call<WhyQuery, unknown>): Promise<Answer> {
  const { system, params, query } = call
  const id = params.id ?? ''
  if (!isTaskId(id)) return answerProblem(noSuchTask(id))
  const why = await readWhy(system, call, id, PATHS)
  if (why) return { status: 200, body: presentWhy(why) }
  const { canvasId } = query
  if (canvasId === undefined) return answerProblem(unpublishedMember(id))
  const member = await readWhyMember(system, id, canvasId, PATHS.canvas)
  if (member) return { status: 200, body: member }
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
