import * as api from '../../api/index.ts'
import { BULK_STATUSES } from '../../core/states.ts'
import { defined } from '../../core/values/values.ts'
import { readCanvasOf } from '../../runtime/canvas/canvas.ts'
import { BULKS_MAX, type Bulk, readBulk, startBulk } from '../../runtime/jobs/bulk.ts'
import { timeOf } from '../../runtime/publish/resolve-publication.ts'
import { registeredNames } from '../../runtime/types/types.ts'
import {
  type Answer,
  answerInvalid,
  answerProblem,
  type Call,
  operationOf,
  PAGE_ITEMS_DEFAULT,
} from '../operation.ts'
import { invalid, problem, unknownType } from '../present/problems.ts'
import { iso, isoOf } from '../present/tasks.ts'
import { emptySpanProblem } from '../requests/publish-requests.ts'

const operation = operationOf('Bulk')

export const bulkOperations = [
  operation({
    name: 'startBulk',
    isAttending: true,
    summary: 'Retry, cancel or remove many tasks',
    description:
      'Begins a job on the server, which continues when the caller has left. It acts on the tasks of one type that fit the request, as the operation on one task does, and each task records the caller. A retry restarts plain tasks, and has failed flows try again what has failed. The operation leaves out tasks that need the attention of an operator. `replay` sends the dead letters of the queue of the type again.',
    cost: 'Some 10 write units. Half a read unit for each task that is read, the cost of the action for each selected task, and some 5 write units per 100 tasks.',
    answers: {
      202: {
        description: 'The bulk operation has begun.',
        schema: api.bulkStarted,
        location: 'the bulk operation',
      },
    },
    problems: ['unknown-type', 'not-found', 'conflict'],
    recordedAs: 'bulk',
    body: api.bulkBody,
    handle: handleStart,
  }),
  operation({
    name: 'getBulk',
    summary: 'Get a bulk operation',
    description: 'Shows its caller and its time, how far it is, and its outcome. It is kept for 30 days.',
    cost: '1 read unit per 4 KB, of which the ids of a page take some.',
    answers: { 200: { description: 'The bulk operation.', schema: api.bulkAnswer } },
    problems: ['not-found'],
    handle: handleGet,
  }),
  operation({
    name: 'listBulks',
    summary: 'List the last bulk operations',
    description: 'Shows the last five of each type, 20 in all, latest first. Dry runs are not listed.',
    cost: 'The types are read, and 1 read unit per 4 KB of each bulk operation.',
    answers: { 200: { description: 'The last bulk operations.', schema: api.bulkList } },
    handle: handleList,
  }),
]

async function handleStart(call: Call<unknown, api.BulkBody>): Promise<Answer> {
  const { system, body, principal } = call
  const { action, type, since, until, error, dryRun = false, userId, canvasId, tags } = body
  const status = [body.status ?? []].flat()
  const legal: readonly string[] = action === 'replay' ? [] : BULK_STATUSES[action]
  const ofTasks = Object.entries({ status: body.status, userId, canvasId, tags })
  const given = ofTasks.find(([, value]) => value !== undefined)
  if (action === 'replay' && given) return answerInvalid(given[0], 'is not for a replay')
  if (status.some(one => !legal.includes(one)) || (action !== 'replay' && status.length === 0))
    return answerInvalid('status', `must list one or more of ${legal.join(', ')}, for action "${action}"`)
  const spanProblem = emptySpanProblem(body)
  if (spanProblem) return answerProblem(invalid([spanProblem]))
  if (!(await system.types.get(type)))
    return answerProblem(unknownType(type, await registeredNames(system), 'type'))
  if (canvasId !== undefined && !(await readCanvasOf(system, canvasId)))
    return answerProblem(problem('not-found', `there is no canvas ${canvasId}`))
  const request = {
    ...{ action, type, statuses: [...new Set(status)], isDryRun: dryRun },
    ...defined({ error, userId, canvasId, tags, since: timeOf(since), until: timeOf(until) }),
  }
  const bulk = await startBulk(system, request, principal)
  if (bulk) {
    const { id } = bulk
    return { status: 202, body: { id }, headers: { location: api.pathOf('getBulk', id) } }
  }
  const detail = `${type} already has ${BULKS_MAX} bulk operations under way; try again when one of them has finished`
  return answerProblem(problem('conflict', detail))
}

async function handleGet({ system, params: { id = '' } }: Call): Promise<Answer> {
  const bulk = /^[0-9A-Z]{26}$/.test(id) ? await readBulk(system, id) : undefined
  if (bulk) return { status: 200, body: presentBulk(bulk) }
  return answerProblem(problem('not-found', `there is no bulk operation ${id}, or its record has expired`))
}

/** The ids sort by time. */
async function handleList({ system }: Call): Promise<Answer> {
  const ids = (await system.types.list()).flatMap(({ lastBulks = [] }) => lastBulks).toSorted()
  const bulks = await Promise.all(ids.slice(-PAGE_ITEMS_DEFAULT).map(id => readBulk(system, id)))
  return { status: 200, body: { items: bulks.flatMap(bulk => (bulk ? [presentBulk(bulk)] : [])).reverse() } }
}

function presentBulk(bulk: Bulk): api.ApiBulk {
  const { id, action, type, statuses, since, until, error, isDryRun, by, askedAt, updatedAt, finishedAt } =
    bulk
  const { userId, canvasId, tags, examined, selected, done, leftOut } = bulk
  return defined({
    id,
    state: finishedAt === undefined ? ('running' as const) : ('finished' as const),
    action,
    type,
    status: statuses,
    since: isoOf(since),
    until: isoOf(until),
    ...{ error, userId, canvasId, tags },
    dryRun: isDryRun,
    by,
    createdAt: iso(askedAt),
    updatedAt: iso(updatedAt),
    finishedAt: isoOf(finishedAt),
    examined,
    selected,
    done,
    leftOut,
  })
}
