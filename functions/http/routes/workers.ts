import { type PageQuery, pageQuery } from '../../../shared/api/scalars.ts'
import type { ApiWorker } from '../../../shared/api/workers.ts'
import { KEY_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { isName } from '../../../shared/core/name.ts'
import { iso } from '../../../shared/present/iso.ts'
import { invalid } from '../../../shared/present/problems.ts'
import { listWorkers, type PresentWorker } from '../../../shared/runtime/worker/worker.ts'
import { pageByName } from '../page-by-name.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

export const workerRoutes = [
  route({
    method: 'get',
    path: '/v1/workers',
    operation: 'listWorkers',
    query: pageQuery,
    handle: handleList,
  }),
]

async function handleList({ system, query }: Call<PageQuery, unknown>): Promise<Answer> {
  const workers = await listWorkers(system)
  const page = pageByName(
    workers,
    query,
    ({ id }) => id,
    text => isName(text, KEY_CHARACTERS_MAX),
  )
  if (!page.ok) return answerProblem(invalid(page.problems))
  const { ok: _ok, items, ...rest } = page
  return { status: 200, body: { items: items.map(presentWorker), ...rest } }
}

function presentWorker({ lastSeen, ...worker }: PresentWorker): ApiWorker {
  return { ...worker, ...(lastSeen !== undefined && { lastSeen: iso(lastSeen) }) }
}
