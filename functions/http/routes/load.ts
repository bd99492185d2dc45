import {
  type ActivityQuery,
  type AllCountsQuery,
  activityQuery,
  allCountsQuery,
  type LimitUsageQuery,
  limitUsageQuery,
} from '../../../shared/api/diagnosis/load.ts'
import { typeName } from '../../../shared/api/scalars.ts'
import { presentActivity, presentLimitUsage } from '../../../shared/present/activity.ts'
import { iso } from '../../../shared/present/iso.ts'
import { invalid } from '../../../shared/present/problems.ts'
import { unknownType, unknownTypes } from '../../../shared/present/refusal-problems.ts'
import { firstMinute, readActivity } from '../../../shared/runtime/activity/activity.ts'
import { sideBySide } from '../../../shared/runtime/kernel/side-by-side.ts'
import { readLimitUsage } from '../../../shared/runtime/limits/limit-usage.ts'
import { countTasks } from '../../../shared/runtime/list/count-tasks.ts'
import { registeredNames } from '../../../shared/runtime/types/registered-names.ts'
import { pageByName } from '../page-by-name.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const MINUTES_DEFAULT = 60
/** Where a count of each type stops. The counts of one type go on to the end, unless the caller bounds them. */
const COUNTED_DEFAULT = 1_000
/** Each type counts its own ranges side by side. */
const TYPES_AT_ONCE_MAX = 10

/** What types have to do: their counts, their activity, and the usage of their limits. */
export const loadRoutes = [
  route({
    method: 'get',
    path: '/v1/counts',
    operation: 'listCounts',
    query: allCountsQuery,
    handle: handleCounts,
  }),
  route({
    method: 'get',
    path: '/v1/activity',
    operation: 'listActivity',
    query: activityQuery,
    handle: handleActivity,
  }),
  route({
    method: 'get',
    path: '/v1/types/{type}/limits',
    operation: 'limitUsage',
    query: limitUsageQuery,
    handle: handleLimits,
  }),
]

async function handleCounts({ system, query }: Call<AllCountsQuery, unknown>): Promise<Answer> {
  const page = pageByName(await system.types.list(), query, ({ type }) => type, isTypeName)
  if (!page.ok) return answerProblem(invalid(page.problems))
  const { ok: _ok, items: types, ...rest } = page
  const items = await sideBySide(types, TYPES_AT_ONCE_MAX, async type => ({
    type: type.type,
    counts: await countTasks(system, type, query.atMost ?? COUNTED_DEFAULT),
  }))
  return { status: 200, body: { items, ...rest } }
}

async function handleActivity({ system, query }: Call<ActivityQuery, unknown>): Promise<Answer> {
  const { type = [], minutes = MINUTES_DEFAULT } = query
  const existing = await registeredNames(system)
  const unknown = type.filter(name => !existing.includes(name)).map(name => ({ type: name, path: 'type' }))
  if (unknown.length > 0) return answerProblem(unknownTypes(unknown, existing))
  const wanted = type.length > 0 ? [...new Set(type)] : existing
  const page = pageByName(wanted, query, name => name, isTypeName)
  if (!page.ok) return answerProblem(invalid(page.problems))
  const { ok: _ok, items: names, ...rest } = page
  const now = system.clock.now()
  const from = firstMinute(now, minutes)
  const items = (await readActivity(system, names, from)).map(presentActivity)
  return { status: 200, body: { from: iso(from), to: iso(now), items, ...rest } }
}

async function handleLimits({ system, params, query }: Call<LimitUsageQuery, unknown>): Promise<Answer> {
  const { type = '' } = params
  const known = isTypeName(type) ? await system.types.get(type) : undefined
  if (!known) return answerProblem(unknownType(type, await registeredNames(system), 'type'))
  const { value, rateValue = value, concurrencyValue = value } = query
  const usage = await readLimitUsage(system, known, { rate: rateValue, concurrency: concurrencyValue })
  return { status: 200, body: presentLimitUsage(type, usage) }
}

function isTypeName(text: string): boolean {
  return typeName.safeParse(text).success
}
