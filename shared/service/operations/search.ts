import * as api from '../../api/index.ts'
import { isolateEach } from '../../runtime/kernel/heads.ts'
import { searchTasks } from '../../runtime/list/search.ts'
import { type Answer, answerProblem, type Call, operationOf, PAGE_ITEMS_DEFAULT } from '../operation.ts'
import { invalid } from '../present/problems.ts'
import { showTask } from '../present/tasks.ts'

export const searchOperations = [
  operationOf('Tasks')({
    name: 'search',
    summary: 'Search tasks',
    description:
      'Finds tasks by a text: first by id and by key in any type, then by user, then by tag and by the text of the error. Tags and errors are searched page by page, type by type, the latest tasks first: a page may be empty and still have a `nextCursor`. Items leave out input and result, and may lag 2 seconds behind.',
    cost: 'Half a read unit for the id and for each type, and as a list for the tasks of the user. A page of the rest reads up to some 2,000 tasks, for half a read unit each, and requests each partition of up to 10 types.',
    answers: { 200: { description: 'One page of tasks.', schema: api.searchAnswer } },
    query: api.searchQuery,
    handle: handleSearch,
  }),
]

async function handleSearch(call: Call<api.SearchQuery, unknown>): Promise<Answer> {
  const { system, query } = call
  const { q: text, limit = PAGE_ITEMS_DEFAULT, cursor } = query
  const answer = await searchTasks(system, { text, limit, ...(cursor !== undefined && { cursor }) })
  if (!answer.ok) return answerProblem(invalid([answer.problem]))
  const { ok: _ok, found, ...rest } = answer
  const shown = await isolateEach(system, found, found.length, async ({ task, match }) => ({
    match,
    item: await showTask(call, task, true),
  }))
  const items = shown.map(({ item }) => item)
  return { status: 200, body: { items, matches: shown.map(({ match }) => match), ...rest } }
}
