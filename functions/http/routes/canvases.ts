import { canvasPath } from '../../../shared/api/paths.ts'
import { emptyBody, type PageQuery, pageQuery } from '../../../shared/api/scalars.ts'
import { KEY_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { isName } from '../../../shared/core/name.ts'
import { CANVAS_TYPE } from '../../../shared/core/task/canvas-state.ts'
import { splitTaskId } from '../../../shared/core/task/task.ts'
import { iso } from '../../../shared/present/iso.ts'
import { invalid, problem } from '../../../shared/present/problems.ts'
import { unknownTypes } from '../../../shared/present/refusal-problems.ts'
import { cancelCanvas } from '../../../shared/runtime/canvas/cancel-members.ts'
import { readCanvas } from '../../../shared/runtime/canvas/describe-canvas.ts'
import { memberIds, publishCanvas } from '../../../shared/runtime/canvas/publish-canvas.ts'
import { canvasRequestOf } from '../requests/canvas-requests.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const DEFAULT_LIMIT = 20
const PATH = '/v1/canvases/{id}'

export const canvasRoutes = [
  route({
    method: 'post',
    path: '/v1/canvases',
    operation: 'publishCanvas',
    handlerChecksBody: true,
    handle: handlePublish,
  }),
  route({
    method: 'get',
    path: PATH,
    operation: 'getCanvas',
    query: pageQuery,
    handle: handleGet,
  }),
  route({
    method: 'post',
    path: `${PATH}/cancel`,
    operation: 'cancelCanvas',
    body: emptyBody,
    isBodyOptional: true,
    handle: handleCancel,
  }),
]

async function handlePublish(call: Call<unknown, unknown>): Promise<Answer> {
  const read = canvasRequestOf(call.body, call.headers, call.system.clock.now())
  if (!read.ok) return answerProblem(invalid(read.problems, read.kind))
  const outcome = await publishCanvas(call.system, read.request)
  if (!outcome.ok && outcome.reason === 'unknown-type') {
    return answerProblem(unknownTypes(outcome.unknown, outcome.existing))
  }
  if (!outcome.ok) return answerProblem(invalid(outcome.problems, outcome.reason))
  const { canvas, created } = outcome
  const taskIds = memberIds(canvas)
  const body = { id: canvas.id, created, ...(taskIds && { taskIds }) }
  if (!created) return { status: 200, body }
  const headers = { location: canvasPath(canvas.id) }
  return { status: taskIds ? 201 : 202, body, headers }
}

async function handleGet(call: Call<PageQuery, unknown>): Promise<Answer> {
  return answerCanvas(call, call.params.id ?? '', call.query)
}

async function handleCancel(call: Call<unknown, unknown>): Promise<Answer> {
  const id = call.params.id ?? ''
  const outcome = isCanvasId(id)
    ? await cancelCanvas(call.system, id)
    : ({ ok: false, reason: 'unknown' } as const)
  if (outcome.ok) return answerCanvas(call, id, {})
  if (outcome.reason === 'unknown') return answerProblem(noSuchCanvas(id))
  const detail = `${id} has ended as ${outcome.task.state}; only a running canvas can be cancelled`
  return answerProblem(problem('conflict', detail))
}

async function answerCanvas(
  { system }: Call<unknown, unknown>,
  id: string,
  { limit = DEFAULT_LIMIT, cursor }: PageQuery,
): Promise<Answer> {
  const query = { limit, ...(cursor !== undefined && { cursor }) }
  const read = isCanvasId(id)
    ? await readCanvas(system, id, query)
    : ({ ok: false, reason: 'unknown' } as const)
  if (!read.ok && read.reason === 'strange-cursor') {
    const message = 'is not a cursor of this canvas: leave it out to begin at the start'
    return answerProblem(invalid([{ path: 'cursor', message }]))
  }
  if (!read.ok) return answerProblem(noSuchCanvas(id))
  const { head, ...shown } = read.canvas
  const times = {
    createdAt: iso(head.createdAt),
    ...(head.finishedAt !== undefined && { finishedAt: iso(head.finishedAt) }),
  }
  return { status: 200, body: { id, ...shown, ...times } }
}

function noSuchCanvas(id: string) {
  return problem('not-found', `there is no canvas ${id}`)
}

/** Whether a canvas can have this id. The store is asked only for such ids, because it cannot hold longer ones. */
function isCanvasId(id: string): boolean {
  const parts = splitTaskId(id)
  return parts?.type === CANVAS_TYPE && isName(parts.key, KEY_CHARACTERS_MAX)
}
