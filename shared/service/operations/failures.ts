import {
  type ApiFailureGroup,
  type FailuresQuery,
  failuresPage,
  failuresQuery,
} from '../../api/diagnosis/failures.ts'
import { FAILURES_SINCE_MS_MAX, HOUR_MS } from '../../core/statistics/failures.ts'
import { FAILURE_COUNTS_MAX, type FailureGroup, readFailures } from '../../runtime/stream/statistics.ts'
import { registeredNames } from '../../runtime/types/types.ts'
import { type Answer, answerProblem, type Call, operation } from '../operation.ts'
import { iso } from '../present/iso.ts'
import { invalid } from '../present/problems.ts'
import { unknownTypes } from '../present/refusal-problems.ts'

const DEFAULT_LIMIT = 20
const SINCE_DEFAULT_MS = 24 * HOUR_MS

export const failureOperations = [
  operation({
    name: 'listFailures',
    tag: 'Observing',
    summary: 'Group failures by type and error',
    description:
      'Shows why tasks fail: groups of one type and one error, the most frequent first. Numbers, ids and quoted texts in the error are masked by `#`. A failure shows within some seconds. More than 5,000 hourly counts are refused with 400: give a type or a later `since`.',
    cost: '1 read unit per 4 KB of types, and half a unit for each type and for each 13 hourly counts of it; at most some 190 units.',
    answers: { 200: { description: 'One page of groups.', schema: failuresPage } },
    problems: ['unknown-type'],
    query: failuresQuery,
    handle: handleFailures,
  }),
]

async function handleFailures({ system, query }: Call<FailuresQuery, unknown>): Promise<Answer> {
  const { type = [], limit = DEFAULT_LIMIT, cursor = '0' } = query
  const now = system.clock.now()
  const since = query.since === undefined ? now - SINCE_DEFAULT_MS : Date.parse(query.since)
  const existing = await registeredNames(system)
  const unknown = type.filter(name => !existing.includes(name)).map(name => ({ type: name, path: 'type' }))
  if (unknown.length > 0) return answerProblem(unknownTypes(unknown, existing))
  if (since < now - FAILURES_SINCE_MS_MAX) return refused('since', 'must be at most 7 days ago')
  if (!/^\d{1,4}$/.test(cursor)) return refused('cursor', 'must be a nextCursor of this list')
  const groups = await readFailures(system, type.length > 0 ? [...new Set(type)] : existing, since)
  if (!groups) {
    const message = `must be later, or give a type: there are more than ${FAILURE_COUNTS_MAX} hourly counts to add up`
    return refused('since', message)
  }
  const end = Number(cursor) + limit
  const items = groups.slice(Number(cursor), end).map(presentGroup)
  return { status: 200, body: { items, ...(end < groups.length && { nextCursor: String(end) }) } }
}

function refused(path: string, message: string): Answer {
  return answerProblem(invalid([{ path, message }]))
}

function presentGroup({ firstAt, lastAt, hours, ...group }: FailureGroup): ApiFailureGroup {
  const shownHours = hours.map(({ hour, count }) => ({ at: iso(hour), count }))
  return { ...group, firstAt: iso(firstAt), lastAt: iso(lastAt), hours: shownHours }
}
