import * as api from '../../api/index.ts'
import type { ActivityCount } from '../../core/events/activity.ts'
import { ACTIVITY_KINDS, latenessAt, sumByTypeAndMinute } from '../../core/events/activity.ts'
import { isTypeName } from '../../core/rules/type-configuration.ts'
import { type LimitReason, limitReasonOf, type MemberFacts } from '../../core/status.ts'
import { typeOfLimit, valueOfLimit } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { defined, groupBy } from '../../core/values/values.ts'
import { sideBySide } from '../../runtime/kernel/heads.ts'
import type { DiagnosticSystem } from '../../runtime/kernel/system.ts'
import { readLimitUsage, type TypeLimitUsage } from '../../runtime/limits/limit-usage.ts'
import { listTasks } from '../../runtime/list/list.ts'
import { countTasks } from '../../runtime/list/list-query.ts'
import { readySince } from '../../runtime/place/ready.ts'
import { readWhy, readWhyMember, type Why } from '../../runtime/read/why.ts'
import { firstMinute, readActivity, type TypeActivity } from '../../runtime/stream/statistics.ts'
import { registeredNames } from '../../runtime/types/types.ts'
import { type Answer, answerProblem, type Call, operationOf, pageByName, refuseCursor } from '../operation.ts'
import { limitNotes } from '../present/limit-notes.ts'
import { noSuchTask, problem, unknownType } from '../present/problems.ts'
import { iso, isoOf } from '../present/tasks.ts'
import { forTask, wantedTypes } from '../requests/publish-requests.ts'
import { explain } from '../why/explain.ts'
import { countText, type Explained } from '../why/words.ts'

/** Why a task waits, and what types have to do. */

const operation = operationOf('Types')

export const whyOperations = [
  operationOf('Tasks')({
    name: 'why',
    summary: 'Explain why a task waits, runs or has ended',
    description:
      'Answers with one reason, one sentence that says what the task waits for, and what to do. The reasons have a table in the guide on waiting.',
    cost: 'At most 10 read units, one request to SQS and no write.',
    answers: { 200: { description: 'The reason.', schema: api.whyAnswer } },
    problems: ['not-found'],
    query: api.whyQuery,
    handle: forTask(handleWhy),
  }),
]

async function handleWhy(call: Call<api.WhyQuery, unknown, DiagnosticSystem>, id: string): Promise<Answer> {
  const { system, query } = call
  const why = await readWhy(system, call, id)
  if (why) return { status: 200, body: presentWhy(id, why) }
  const { canvasId } = query
  if (canvasId === undefined) return answerProblem(unpublishedMember(id))
  const member = await readWhyMember(system, id, canvasId)
  if (member) return { status: 200, body: { id, ...explainMember(member) } }
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

/** The reason, the sentence and the next step of a member of a canvas that is not published. */
export function explainMember({ id, canvasId, members, ended, state }: MemberFacts) {
  const counted =
    ended === undefined
      ? ` of ${countText(members, 'member')}`
      : `: ${ended} of ${countText(members, 'member')} have ended`
  const read = `GET ${api.pathOf('getCanvas', canvasId)} shows its members.`
  switch (state) {
    case 'pending':
      return {
        ...WAITING_MEMBER,
        sentence: `${id} waits for other members of ${canvasId}${counted}; it is published when those before it have ended.`,
        next: `There is nothing to do. ${read}`,
      }
    case 'about-to-start':
      return {
        ...WAITING_MEMBER,
        sentence: `${id} waits for no other member of ${canvasId}, and is about to be published${counted}.`,
        next: `There is nothing to do: the sweeper publishes what was lost within some minutes. ${read}`,
      }
    case 'skipped':
      return {
        ...{ status: state, reason: 'skipped' as const },
        sentence: `${id} never runs: a member of ${canvasId} before it failed, or it is for a failure that did not happen.`,
        next: `There is nothing to do. ${read}`,
      }
    case 'cancelled':
      return {
        ...{ status: state, reason: 'skipped' as const },
        sentence: `${id} never runs: ${canvasId} was cancelled before it was published.`,
        next: `Publish the canvas again if its work is still wanted. ${read}`,
      }
  }
}

const WAITING_MEMBER = { status: 'pending', reason: 'canvas' } as const

function presentWhy(id: string, { status, reason, facts }: Why): api.WhyAnswer {
  const why = explain(reason, facts)
  const { sentence, next, since, until, holder, lastWorkerSeenAt, log, deadLetterId } = why
  return {
    id,
    status,
    reason,
    sentence: [sentence, ...limitNotes(facts.task, facts.types.values())].join(' '),
    next,
    ...defined({ since: isoOf(since), until: isoOf(until), holder }),
    ...presentLimit(why),
    ...presentQueue(why),
    ...defined({ lastWorkerSeenAt: isoOf(lastWorkerSeenAt), log, deadLetterId }),
  }
}

function presentLimit({ limit }: Explained): Pick<api.WhyAnswer, 'limit'> {
  if (!limit) return {}
  const { holders, ...rest } = limit
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { limit: { ...rest, ...(shown && { holders: shown }) } }
}

function presentQueue({ queue }: Explained): Pick<api.WhyAnswer, 'queue'> {
  if (!queue) return {}
  const { oldestDueAt, ...rest } = queue
  return { queue: { ...rest, ...defined({ oldestDueAt: isoOf(oldestDueAt) }) } }
}

const MINUTES_DEFAULT = 60
/** Where a count of each type stops. The counts of one type run to the end, unless the caller bounds them. */
const COUNTED_DEFAULT = 1_000
/** Each type counts its own ranges side by side. */
const TYPES_AT_ONCE_MAX = 10

/** What types have to do: their counts, their activity, and the usage of their limits. */
export const loadOperations = [
  operation({
    name: 'listCounts',
    summary: 'Count the tasks of all types',
    description: 'Counts the tasks of each type by their status. Counts may lag 2 seconds behind.',
    cost: 'Some 10 read units for each thousand tasks; with `atMost=1000` at most some 80 units for each type.',
    answers: { 200: { description: 'One page of types with their counts.', schema: api.allCountsPage } },
    query: api.allCountsQuery,
    handle: handleCounts,
  }),
  operation({
    name: 'limitUsage',
    summary: 'Show how much of the limits of a type is used',
    description:
      'Shows the permits that are held with their holders, and the time of the next free slot. A limit with a key is shown for one value of the key: `rateValue` and `concurrencyValue`, or `value` for both. With `waiting` it also shows what the limits hold back.',
    cost: '1 read unit for the type, 1 per 4 KB of slots, 1 for every 8 permits of `max`, and 4 more. With `waiting` half a unit for each task that is examined, and the limits of each value of a key that is found.',
    answers: { 200: { description: 'The limits and their usage.', schema: api.limitUsage } },
    problems: ['unknown-type'],
    query: api.limitUsageQuery,
    handle: handleLimits,
  }),
]

/** What the types of a system with a store of activity did. */
export const activityOperations = [
  operation({
    name: 'listActivity',
    summary: 'Show what the tasks of each type did, minute by minute',
    description:
      'Shows how many tasks were published, started and ended in each of the last minutes, and how late runs started. The counts lag by some seconds, and may be a little off.',
    cost: '1 read unit per 4 KB of types, and for each type half a unit per 4 KB of minutes.',
    answers: { 200: { description: 'One page of types with their activity.', schema: api.activityPage } },
    problems: ['unknown-type'],
    query: api.activityQuery,
    handle: handleActivity,
  }),
]

async function handleCounts({ system, query }: Call<api.AllCountsQuery, unknown>): Promise<Answer> {
  const page = pageByName(await system.types.list(), query, ({ type }) => type, isTypeName)
  if (!page) return refuseCursor()
  const items = await sideBySide(page.items, TYPES_AT_ONCE_MAX, async type => {
    const counts = await countTasks(system, type, query.atMost ?? COUNTED_DEFAULT)
    const since = counts.ready > 0 ? await readySince(system, type, counts.running) : undefined
    return { type: type.type, counts, ...defined({ readySince: isoOf(since) }) }
  })
  return { status: 200, body: { ...page, items } }
}

async function handleActivity({
  system,
  query,
}: Call<api.ActivityQuery, unknown, DiagnosticSystem>): Promise<Answer> {
  const { type = [], minutes = MINUTES_DEFAULT } = query
  const wanted = await wantedTypes(system, type)
  if (!Array.isArray(wanted)) return answerProblem(wanted)
  const page = pageByName(wanted, query, name => name, isTypeName)
  if (!page) return refuseCursor()
  const now = system.clock.now()
  const from = firstMinute(now, minutes)
  const items = (await readActivity(system, page.items, from)).map(presentActivity)
  return { status: 200, body: { from: iso(from), to: iso(now), ...page, items } }
}

async function handleLimits(call: Call<api.LimitUsageQuery, unknown>): Promise<Answer> {
  const { system, params, query } = call
  const { type = '' } = params
  const known = isTypeName(type) ? await system.types.get(type) : undefined
  if (!known) return answerProblem(unknownType(type, await registeredNames(system), 'type'))
  const { value, rateValue = value, concurrencyValue = value } = query
  const usage = await readLimitUsage(system, known, { rate: rateValue, concurrency: concurrencyValue })
  const { rate, concurrency } = presentLimitUsage(type, usage)
  const waiting = query.waiting === undefined ? undefined : await readWaiting(call, known, query.waiting)
  const body = {
    type,
    rate: rate && { ...rate, ...defined({ waiting: waiting?.('rate-limit') }) },
    concurrency: concurrency && { ...concurrency, ...defined({ waiting: waiting?.('concurrency-limit') }) },
  }
  return { status: 200, body: defined(body) }
}

/** What the limits of a type hold back among its first due tasks. Steps of flows wait for the limit, too, and are not counted. */
async function readWaiting(
  { system, limitHolding }: Call<unknown, unknown>,
  type: TaskType,
  examined: number,
): Promise<(reason: LimitReason) => Array<{ readonly value?: string; readonly tasks: number }>> {
  const query = { types: [type], statuses: ['ready'], order: 'due', limit: examined } as const
  const page = await listTasks(system, query)
  const found = await sideBySide(page.ok ? page.tasks : [], TYPES_AT_ONCE_MAX, async task =>
    task.wait ? { limit: task.wait.limit, reason: limitReasonOf(task.wait) } : limitHolding(task),
  )
  const held = found.flatMap(one => (one && typeOfLimit(one.limit) === type.type ? [one] : []))
  return reason => {
    const ofReason = held.filter(one => one.reason === reason)
    return [...groupBy(ofReason, ({ limit }) => limit)]
      .map(([limit, { length }]) => ({ ...valueOfLimit(limit), tasks: length }))
      .sort((a, b) => b.tasks - a.tasks)
  }
}

function presentActivity({ type, minutes }: TypeActivity): api.ApiTypeActivity {
  const [whole] = sumByTypeAndMinute(minutes.map(one => ({ ...one, minute: 0 })))
  return { type, minutes: minutes.map(presentMinute), ...presentLateness(whole?.lateness ?? {}) }
}

function presentMinute({ minute, counts, lateness }: ActivityCount): api.ApiMinute {
  const numbers = ACTIVITY_KINDS.map(kind => [kind, counts[kind] ?? 0])
  return { at: iso(minute), ...Object.fromEntries(numbers), ...presentLateness(lateness) }
}

function presentLateness(lateness: ActivityCount['lateness']): Pick<api.ApiMinute, 'lateness'> {
  const [p50Ms, p95Ms] = [latenessAt(lateness, 0.5), latenessAt(lateness, 0.95)]
  return p50Ms === undefined || p95Ms === undefined ? {} : { lateness: { p50Ms, p95Ms } }
}

function presentLimitUsage(type: string, { rate, concurrency }: TypeLimitUsage): api.LimitUsage {
  return {
    type,
    ...(rate && { rate: defined({ ...rate, nextSlotAt: isoOf(rate.nextSlotAt) }) }),
    ...(concurrency && { concurrency: presentConcurrency(concurrency) }),
  }
}

function presentConcurrency({ holders, ...limit }: NonNullable<TypeLimitUsage['concurrency']>) {
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { ...limit, ...(shown && { holders: shown }) }
}
