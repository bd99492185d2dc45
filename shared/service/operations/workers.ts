import { type PageQuery, pageQuery } from '../../api/scalars.ts'
import { type ApiWorker, workerPage } from '../../api/workers.ts'
import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { isName } from '../../core/values/text.ts'
import { listWorkers, type PresentWorker } from '../../runtime/worker/worker.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { pageByName } from '../page-by-name.ts'
import { iso } from '../present/iso.ts'
import { invalid } from '../present/problems.ts'

export const workerOperations = [
  operation({
    name: 'listWorkers',
    tag: 'Observing',
    summary: 'List live workers',
    description: 'Lists live workers by their ids. The Lambda functions of a type are one entry.',
    cost: '1 read unit per 4 KB of workers, some 200 bytes each.',
    answers: { 200: { description: 'One page of workers.', schema: workerPage } },
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
