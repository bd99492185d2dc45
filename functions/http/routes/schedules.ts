import { schedulePath, taskPath } from '../../../shared/api/paths.ts'
import {
  type ExpectedRevision,
  emptyBody,
  expectedRevision,
  type PageQuery,
  pageQuery,
} from '../../../shared/api/scalars.ts'
import { type ScheduleBody, scheduleBody } from '../../../shared/api/schedules.ts'
import { KEY_CHARACTERS_MAX } from '../../../shared/core/bounds.ts'
import { isName } from '../../../shared/core/name.ts'
import { SCHEDULE_TYPE } from '../../../shared/core/task/schedule-state.ts'
import { taskId } from '../../../shared/core/task/task.ts'
import { invalid, problem } from '../../../shared/present/problems.ts'
import { publishProblem, staleProblem, unknownTypes } from '../../../shared/present/refusal-problems.ts'
import { presentSchedule } from '../../../shared/present/schedules.ts'
import { scheduleRequestOf } from '../../../shared/requests/schedule-requests.ts'
import {
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../../shared/runtime/schedule/operate-schedule.ts'
import { listSchedules, readSchedule } from '../../../shared/runtime/schedule/read-schedules.ts'
import { putSchedule } from '../../../shared/runtime/schedule/schedule.ts'
import { type Answer, answerProblem, type Call, route } from '../route.ts'

const DEFAULT_LIMIT = 20
const PATH = '/v1/schedules/{name}'

export const scheduleRoutes = [
  route({
    method: 'get',
    path: '/v1/schedules',
    operation: 'listSchedules',
    query: pageQuery,
    handle: handleList,
  }),
  route({
    method: 'get',
    path: PATH,
    operation: 'getSchedule',
    handle: handleGet,
  }),
  route({
    method: 'put',
    path: PATH,
    operation: 'putSchedule',
    recordedAs: 'put',
    body: scheduleBody,
    handle: handlePut,
  }),
  route({
    method: 'delete',
    path: PATH,
    operation: 'removeSchedule',
    query: expectedRevision,
    handle: handleRemove,
  }),
  route({
    method: 'post',
    path: `${PATH}/pause`,
    operation: 'pauseSchedule',
    recordedAs: 'pause',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handleChange(call, pauseSchedule),
  }),
  route({
    method: 'post',
    path: `${PATH}/resume`,
    operation: 'resumeSchedule',
    recordedAs: 'resume',
    body: expectedRevision,
    isBodyOptional: true,
    handle: call => handleChange(call, resumeSchedule),
  }),
  route({
    method: 'post',
    path: `${PATH}/trigger`,
    operation: 'triggerSchedule',
    recordedAs: 'trigger',
    body: emptyBody,
    isBodyOptional: true,
    handle: handleTrigger,
  }),
]

async function handleList({
  system,
  query: { limit = DEFAULT_LIMIT, cursor },
}: Call<PageQuery, unknown>): Promise<Answer> {
  const page = await listSchedules(system, { limit, ...(cursor !== undefined && { cursor }) })
  if (!page.ok) {
    const message = 'is not a cursor of this list: leave it out to begin at the start'
    return answerProblem(invalid([{ path: 'cursor', message }]))
  }
  const { schedules, nextCursor } = page
  const items = schedules.map(presentSchedule)
  return { status: 200, body: { items, ...(nextCursor !== undefined && { nextCursor }) } }
}

type OneCall<Body> = Call<unknown, Body>

async function handleGet(call: OneCall<unknown>): Promise<Answer> {
  const id = idIn(call)
  return id === undefined ? answerUnknown(call) : answerSchedule(call, id)
}

async function answerSchedule(
  call: OneCall<unknown>,
  id: string,
  more: Partial<Answer> = {},
): Promise<Answer> {
  const found = await readSchedule(call.system, id)
  return found ? { status: 200, body: presentSchedule(found), ...more } : answerUnknown(call)
}

async function handlePut(call: OneCall<ScheduleBody>): Promise<Answer> {
  const { system, params, body } = call
  const { name = '' } = params
  const read = scheduleRequestOf(name, body, system.clock.now())
  if (!read.ok) return answerProblem(invalid(read.problems, read.kind))
  const outcome = await putSchedule(system, name, read.request, body)
  if (!outcome.ok && outcome.reason === 'unknown-type') {
    return answerProblem(unknownTypes(outcome.unknown, outcome.existing))
  }
  if (!outcome.ok && outcome.reason === 'stale') return answerProblem(staleProblem(name, outcome.task))
  if (!outcome.ok) return answerProblem(invalid(outcome.problems))
  const { id } = outcome.task
  if (!outcome.created) return answerSchedule(call, id)
  const headers = { location: schedulePath(name) }
  return answerSchedule(call, id, { status: 201, headers })
}

async function handleRemove(call: Call<ExpectedRevision, unknown>): Promise<Answer> {
  const id = idIn(call)
  const outcome = id === undefined ? UNKNOWN : await removeSchedule(call.system, id, call.query)
  if (outcome.ok) return { status: 204 }
  if (outcome.reason === 'unknown') return answerUnknown(call)
  return answerProblem(staleProblem(call.params.name ?? '', outcome.task))
}

async function handleChange(call: OneCall<ExpectedRevision>, change: typeof pauseSchedule): Promise<Answer> {
  const id = idIn(call)
  const outcome = id === undefined ? UNKNOWN : await change(call.system, id, call.body)
  if (id !== undefined && outcome.ok) return answerSchedule(call, id)
  if (outcome.ok || outcome.reason === 'unknown') return answerUnknown(call)
  if (outcome.reason === 'stale') return answerProblem(staleProblem(call.params.name ?? '', outcome.task))
  const detail = `${call.params.name} has had its last tick; replace it by a PUT to give it new ticks`
  return answerProblem(problem('conflict', detail))
}

const UNKNOWN = { ok: false, reason: 'unknown' } as const

async function handleTrigger(call: OneCall<unknown>): Promise<Answer> {
  const id = idIn(call)
  const outcome = id === undefined ? UNKNOWN : await triggerSchedule(call.system, id)
  if (outcome.ok) {
    const { id: publishedId } = outcome.task
    return { status: 202, body: { taskId: publishedId }, headers: { location: taskPath(publishedId) } }
  }
  if (outcome.reason === 'unknown') return answerUnknown(call)
  return answerProblem(publishProblem(outcome.outcome, call.requestId, 'task'))
}

function answerUnknown({ params }: OneCall<unknown>): Answer {
  return answerProblem(problem('not-found', `there is no schedule ${params.name}`))
}

/** Returns the id of the named schedule, or undefined when no schedule can have this name. */
function idIn({ params: { name = '' } }: OneCall<unknown>): string | undefined {
  return isName(name, KEY_CHARACTERS_MAX) ? taskId(SCHEDULE_TYPE, name) : undefined
}
