import * as api from '../../api/index.ts'
import { emptyBody, type PageQuery, pageQuery } from '../../api/scalars.ts'
import { ANSWER_BYTES_MAX, KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { CANVAS_TYPE } from '../../core/task/head-fields.ts'
import { splitTaskId } from '../../core/task/task.ts'
import { isName } from '../../core/values/text.ts'
import { defined } from '../../core/values/values.ts'
import { readCanvas } from '../../runtime/canvas/describe-canvas.ts'
import { cancelCanvas } from '../../runtime/canvas/drive-canvas.ts'
import { listCanvases } from '../../runtime/canvas/list-canvases.ts'
import { memberIds, publishCanvas } from '../../runtime/canvas/publish-canvas.ts'
import { readPreviousPage } from '../../runtime/canvas/read-previous.ts'
import { readTask } from '../../runtime/kernel/heads.ts'
import type { Answer, Call } from '../operation.ts'
import { answerInvalid, answerProblem, operationOf, PAGE_ITEMS_DEFAULT, refuseCursor } from '../operation.ts'
import { invalid, noSuchTask, problem, unknownTypes } from '../present/problems.ts'
import { iso, isoOf } from '../present/tasks.ts'
import { canvasRequestOf } from '../requests/canvas-requests.ts'
import { checkingInputs } from '../requests/compare-inputs.ts'
import { forTask } from '../requests/publish-requests.ts'

const operation = operationOf('Canvases')

export const canvasOperations = [
  operation({
    name: 'publishCanvas',
    summary: 'Publish a chain, a group or a chord of tasks',
    description:
      'A canvas has one of the fields `chain`, `group` and `chord`, and its members may be canvases again. A chain runs its members one after the other and hands each result on. A group runs its members side by side. A chord runs `then` after its group, with all results. With a `key` the call may be repeated.',
    body: api.canvasBody,
    answers: {
      200: { description: 'A canvas with this key exists.', schema: api.canvasPublished },
      201: { description: 'The canvas was created.', schema: api.canvasPublished, location: 'the canvas' },
      202: {
        description: 'The canvas was stored. It has more than 1,000 tasks, which are being published.',
        schema: api.canvasPublished,
        location: 'the canvas',
      },
    },
    problems: ['unknown-type'],
    checksBody: true,
    handle: handlePublish,
  }),
  operation({
    name: 'listCanvases',
    summary: 'List canvases',
    description:
      'Lists canvases, the latest first: running ones by the time of their publish, others by their end. Canvases are listed while they are kept. The list may lag 2 seconds behind.',
    cost: 'Half a read unit for 4 KB of index entries in each of 16 partitions, and some 2 for each canvas of the page.',
    answers: { 200: { description: 'One page of canvases.', schema: api.canvasPage } },
    query: api.canvasesQuery,
    handle: handleList,
  }),
  operation({
    name: 'getCanvas',
    summary: 'Get a canvas',
    description: 'Shows the canvas, its result, and a page of its tasks in the order of its body.',
    answers: { 200: { description: 'The canvas.', schema: api.canvasAnswer } },
    problems: ['not-found'],
    query: pageQuery,
    handle: call => answerCanvas(call, call.params.id ?? '', call.query),
  }),
  operation({
    name: 'cancelCanvas',
    summary: 'Cancel a canvas and its tasks',
    description:
      'The tasks that have not ended are cancelled, and no further ones are published. The call may be repeated. A canvas that has ended in another way is refused with 409.',
    answers: { 200: { description: 'The cancelled canvas.', schema: api.canvasAnswer } },
    problems: ['not-found', 'conflict'],
    body: emptyBody,
    isBodyOptional: true,
    handle: handleCancel,
  }),
]

async function handlePublish(call: Call<unknown, unknown>): Promise<Answer> {
  const read = canvasRequestOf(call.body, call.traceparent, call.system.clock.now())
  if (!read.ok) return answerProblem(invalid(read.problems, read.kind))
  const outcome = await publishCanvas(checkingInputs(call.system), read.request)
  if (!outcome.ok && outcome.reason === 'unknown-type') {
    return answerProblem(unknownTypes(outcome.unknown, outcome.existing))
  }
  if (!outcome.ok) return answerProblem(invalid(outcome.problems, outcome.reason))
  const { canvas, created } = outcome
  const taskIds = memberIds(canvas)
  const body = { id: canvas.id, created, ...(taskIds && { taskIds }) }
  if (!created) return { status: 200, body }
  const headers = { location: api.pathOf('getCanvas', canvas.id) }
  return { status: taskIds ? 201 : 202, body, headers }
}

async function handleList({ system, query }: Call<api.CanvasesQuery, unknown>): Promise<Answer> {
  const { status: statuses = [], limit = PAGE_ITEMS_DEFAULT, cursor } = query
  const page = await listCanvases(system, { statuses, limit, ...(cursor !== undefined && { cursor }) })
  if (!page.ok) return refuseCursor()
  const { heads, nextCursor } = page
  const items = heads.map(({ head: { id, key, error, canvas, createdAt, finishedAt }, ...shown }) =>
    defined({
      ...{ id, key, ...shown, error, tasks: canvas.leaves },
      ...{ createdAt: iso(createdAt), finishedAt: isoOf(finishedAt) },
    }),
  )
  return { status: 200, body: { items, ...(nextCursor !== undefined && { nextCursor }) } }
}

async function handleCancel(call: Call<unknown, unknown>): Promise<Answer> {
  const id = call.params.id ?? ''
  const outcome = isCanvasId(id) ? await cancelCanvas(call.system, id) : UNKNOWN
  if (outcome.ok) return answerCanvas(call, id, {})
  if (outcome.reason === 'unknown') return answerProblem(noSuchCanvas(id))
  const detail = `${id} has ended as ${outcome.task.state}; only a running canvas can be cancelled`
  return answerProblem(problem('conflict', detail))
}

async function answerCanvas(
  { system }: Call<unknown, unknown>,
  id: string,
  { limit = PAGE_ITEMS_DEFAULT, cursor }: PageQuery,
): Promise<Answer> {
  const query = { limit, ...(cursor !== undefined && { cursor }) }
  const read = isCanvasId(id) ? await readCanvas(system, id, query) : UNKNOWN
  if (!read.ok && read.reason === 'strange-cursor') {
    const message = 'is not a cursor of this canvas: leave it out to begin at the start'
    return answerInvalid('cursor', message)
  }
  if (!read.ok) return answerProblem(noSuchCanvas(id))
  const { head, ...shown } = read.canvas
  const times = defined({ createdAt: iso(head.createdAt), finishedAt: isoOf(head.finishedAt) })
  return { status: 200, body: { id, ...shown, ...times } }
}

const UNKNOWN = { ok: false, reason: 'unknown' } as const

function noSuchCanvas(id: string) {
  return problem('not-found', `there is no canvas ${id}`)
}

/** Whether a canvas can have this id. The store is asked only for such ids, because it cannot hold longer ones. */
function isCanvasId(id: string): boolean {
  const parts = splitTaskId(id)
  return parts?.type === CANVAS_TYPE && isName(parts.key, KEY_CHARACTERS_MAX)
}

/** The rest of an answer takes less than 1 KB. */
const ITEMS_BYTES_MAX = ANSWER_BYTES_MAX - 1_024

export const previousOperations = [
  operationOf('Tasks')({
    name: 'previous',
    summary: 'List what a canvas handed on to a task',
    description:
      'Reads the list of results that the earlier tasks of a canvas handed on, in their order. A task shows the list in `previous`; when it is too long for that, the task has `previousPaged`, and only this call reads it. A task that was handed no list is refused with 409.',
    answers: { 200: { description: 'One page of results.', schema: api.previousPage } },
    problems: ['not-found', 'conflict'],
    query: api.previousQuery,
    handle: forTask(handlePrevious),
  }),
]

async function handlePrevious({ system, query }: Call<PageQuery, unknown>, id: string): Promise<Answer> {
  const task = await readTask(system, id)
  if (!task || task.state === 'removed') return answerProblem(noSuchTask(id))
  const from = Number(query.cursor ?? 0)
  const page = await readPreviousPage(system, task, {
    from,
    limit: query.limit ?? PAGE_ITEMS_DEFAULT,
    maxBytes: ITEMS_BYTES_MAX,
  })
  if (page.ok) {
    const { items, next } = page
    return { status: 200, body: { items, ...(next !== undefined && { nextCursor: String(next) }) } }
  }
  return answerProblem(problem('conflict', `${id} ${WHY_NO_PAGE[page.reason]}`))
}

const WHY_NO_PAGE = {
  'not-a-list': 'was handed no list of a canvas; GET of the task shows what it was handed',
  'too-long': 'was handed a list with a member that is too long for an answer; read the results of its tasks',
  gone: 'was handed a list, but one of its results is no longer stored',
} as const
