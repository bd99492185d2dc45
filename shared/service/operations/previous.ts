import type { PageQuery } from '../../api/scalars.ts'
import { previousPage, previousQuery } from '../../api/tasks.ts'
import { ANSWER_BYTES_MAX } from '../../core/bounds.ts'
import { readPreviousPage } from '../../runtime/canvas/read-previous.ts'
import { readTask } from '../../runtime/kernel/heads.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { problem } from '../present/problems.ts'
import { noSuchTask } from '../present/refusal-problems.ts'
import { isTaskId } from '../requests/task-ids.ts'

const DEFAULT_LIMIT = 20
/** The rest of an answer takes less than 1 KB. */
const ITEMS_BYTES_MAX = ANSWER_BYTES_MAX - 1_024

export const previousOperations = [
  operation({
    name: 'previous',
    tag: 'Tasks',
    summary: 'List what a canvas handed on to a task',
    description:
      'Reads the list of results that the earlier tasks of a canvas handed on, in their order. A task shows the list in `previous`; when it is too long for that, the task has `previousPaged`, and only this call reads it. A task that was handed no list is refused with 409.',
    answers: { 200: { description: 'One page of results.', schema: previousPage } },
    problems: ['not-found', 'conflict'],
    query: previousQuery,
    handle: handlePrevious,
  }),
]

async function handlePrevious(call: Call<PageQuery, unknown>): Promise<Answer> {
  const { system, query, params } = call
  const id = params.id ?? ''
  const task = isTaskId(id) ? await readTask(system, id) : undefined
  if (!task || task.state === 'removed') return answerProblem(noSuchTask(id))
  const from = Number(query.cursor ?? 0)
  const page = await readPreviousPage(system, task, {
    from,
    limit: query.limit ?? DEFAULT_LIMIT,
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
