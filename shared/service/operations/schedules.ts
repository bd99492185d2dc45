import * as api from '../../api/index.ts'
import type { ExpectedRevision, PageQuery } from '../../api/scalars.ts'
import { emptyBody, expectedRevision, pageQuery } from '../../api/scalars.ts'
import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { editsOf } from '../../core/change.ts'
import { SCHEDULE_TYPE, type Timing } from '../../core/task/head-fields.ts'
import { taskId } from '../../core/task/task.ts'
import { isName } from '../../core/values/text.ts'
import { defined } from '../../core/values/values.ts'
import { sideBySide } from '../../runtime/kernel/heads.ts'
import type { ScheduleDescription } from '../../runtime/schedule/read-schedules.ts'
import { listSchedules, readSchedule, readTicks } from '../../runtime/schedule/read-schedules.ts'
import {
  type KeptElsewhere,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../runtime/schedule/schedule.ts'
import type { Answer, Call } from '../operation.ts'
import { answerInvalid, answerProblem, operationOf, PAGE_ITEMS_DEFAULT } from '../operation.ts'
import { invalid, problem, publishProblem, staleProblem, unknownTypes } from '../present/problems.ts'
import { iso, isoOf, presentOperations, showTask } from '../present/tasks.ts'
import { checkingInputs } from '../requests/compare-inputs.ts'
import { scheduleRequestOf } from '../requests/publish-requests.ts'

const THE_SCHEDULE = { 200: { description: 'The schedule.', schema: api.scheduleAnswer } }

const operation = operationOf('Schedules')

export const scheduleOperations = [
  operation({
    name: 'listSchedules',
    summary: 'List schedules',
    description:
      'Lists schedules by their next tick, paused ones last. Each shows only the type of its task.',
    answers: { 200: { description: 'One page of schedules.', schema: api.schedulePage } },
    query: pageQuery,
    handle: handleList,
  }),
  operation({
    name: 'getSchedule',
    summary: 'Get a schedule',
    description: 'Shows the schedule, with its last and its next tick.',
    answers: THE_SCHEDULE,
    problems: ['not-found'],
    handle: named((call, id) => answerSchedule(call, id)),
  }),
  operation({
    name: 'putSchedule',
    summary: 'Create or replace a schedule',
    description:
      'Sets the whole schedule. A paused schedule stays paused. A body that equals the stored schedule changes nothing. A schedule that a deployment keeps is refused with 409.',
    answers: {
      200: {
        description: 'The schedule was replaced, or is the same as before.',
        schema: api.scheduleAnswer,
      },
      201: { description: 'The schedule was created.', schema: api.scheduleAnswer, location: 'the schedule' },
    },
    problems: ['unknown-type', 'conflict', 'stale-revision'],
    recordedAs: 'put',
    body: api.scheduleBody,
    handle: handlePut,
  }),
  operation({
    name: 'removeSchedule',
    summary: 'Remove a schedule',
    description:
      'It has no further tick. The tasks that it has published stay. A schedule that a deployment keeps is refused with 409.',
    answers: { 204: { description: 'The schedule is removed.' } },
    problems: ['not-found', 'conflict', 'stale-revision'],
    query: expectedRevision,
    handle: named(handleRemove),
  }),
  operation({
    name: 'pauseSchedule',
    isAttending: true,
    summary: 'Pause a schedule',
    description:
      'Ticks that fall into the pause are missed. The call may be repeated. A schedule that has had its last tick is refused with 409.',
    answers: THE_SCHEDULE,
    problems: ['not-found', 'conflict', 'stale-revision'],
    recordedAs: 'pause',
    body: expectedRevision,
    isBodyOptional: true,
    handle: named(changing(pauseSchedule)),
  }),
  operation({
    name: 'resumeSchedule',
    isAttending: true,
    summary: 'Resume a schedule',
    description:
      'Ends the pause. The call may be repeated. A schedule that has had its last tick is refused with 409.',
    answers: THE_SCHEDULE,
    problems: ['not-found', 'conflict', 'stale-revision'],
    recordedAs: 'resume',
    body: expectedRevision,
    isBodyOptional: true,
    handle: named(changing(resumeSchedule)),
  }),
  operation({
    name: 'listTicks',
    summary: 'List the past ticks of a schedule',
    description:
      'Lists ticks with their tasks, newest first, as the present timing has them: ticks of a former timing are not shown. Tasks of triggers are not among them. Tasks leave out input and result.',
    cost: '1 read unit, and half a unit for each tick.',
    answers: { 200: { description: 'One page of ticks.', schema: api.tickPage } },
    problems: ['not-found'],
    query: api.ticksQuery,
    handle: named(handleTicks),
  }),
  operation({
    name: 'triggerSchedule',
    isAttending: true,
    summary: 'Publish the task of a schedule now',
    description:
      'The task comes in addition to the tasks of the ticks. Each call publishes a task of its own.',
    answers: {
      202: { description: 'The task was published.', schema: api.triggerAnswer, location: 'the task' },
    },
    problems: ['not-found', 'unknown-type', 'conflict'],
    recordedAs: 'trigger',
    body: emptyBody,
    isBodyOptional: true,
    handle: named(handleTrigger),
  }),
]

async function handleList({
  system,
  query: { limit = PAGE_ITEMS_DEFAULT, cursor },
}: Call<PageQuery, unknown>): Promise<Answer> {
  const page = await listSchedules(system, { limit, ...(cursor !== undefined && { cursor }) })
  if (!page.ok)
    return answerInvalid('cursor', 'is not a cursor of this list: leave it out to begin at the start')
  const { heads, nextCursor } = page
  const items = heads.map(presentSchedule)
  return { status: 200, body: { items, ...(nextCursor !== undefined && { nextCursor }) } }
}

type OneCall<Body> = Call<unknown, Body>

/** Serves a call about the schedule that its path names. No schedule can have a name that is too long or has other characters. */
function named<Query, Body>(handle: (call: Call<Query, Body>, id: string) => Promise<Answer>) {
  return async (call: Call<Query, Body>): Promise<Answer> => {
    const { name = '' } = call.params
    return isName(name, KEY_CHARACTERS_MAX) ? handle(call, taskId(SCHEDULE_TYPE, name)) : answerUnknown(call)
  }
}

async function answerSchedule(
  call: OneCall<unknown>,
  id: string,
  more: Partial<Answer> = {},
): Promise<Answer> {
  const found = await readSchedule(call.system, id)
  return found ? { status: 200, body: presentSchedule(found), ...more } : answerUnknown(call)
}

async function handlePut(call: OneCall<api.ScheduleBody>): Promise<Answer> {
  const { system, params, body } = call
  const { name = '' } = params
  const read = scheduleRequestOf(name, body, system.clock.now())
  if (!read.ok) return answerProblem(invalid(read.problems, read.kind))
  const outcome = await putSchedule(checkingInputs(system), name, read.request, body)
  if (!outcome.ok && outcome.reason === 'unknown-type') {
    return answerProblem(unknownTypes(outcome.unknown, outcome.existing))
  }
  if (!outcome.ok && outcome.reason === 'kept-elsewhere') return answerKept(outcome)
  if (!outcome.ok && outcome.reason === 'stale') return answerProblem(staleProblem(name, outcome.task))
  if (!outcome.ok) return answerProblem(invalid(outcome.problems))
  const { id } = outcome.task
  if (!outcome.created) return answerSchedule(call, id)
  const headers = { location: api.pathOf('getSchedule', name) }
  return answerSchedule(call, id, { status: 201, headers })
}

async function handleRemove(call: Call<ExpectedRevision, unknown>, id: string): Promise<Answer> {
  const outcome = await removeSchedule(call.system, id, call.query)
  if (outcome.ok) return { status: 204 }
  if (outcome.reason === 'unknown') return answerUnknown(call)
  if (outcome.reason === 'kept-elsewhere') return answerKept(outcome)
  return answerProblem(staleProblem(call.params.name ?? '', outcome.task))
}

function answerKept({ task: { key, schedule } }: KeptElsewhere): Answer {
  const detail = `the deployment of the stack ${schedule.managedBy} keeps ${key}: change or remove it in the code of that stack, and deploy; pause, resume and trigger are legal here`
  return answerProblem(problem('conflict', detail))
}

function changing(change: typeof pauseSchedule) {
  return async (call: OneCall<ExpectedRevision>, id: string): Promise<Answer> => {
    const outcome = await change(call.system, id, call.body)
    if (outcome.ok) return answerSchedule(call, id)
    if (outcome.reason === 'unknown') return answerUnknown(call)
    if (outcome.reason === 'stale') return answerProblem(staleProblem(call.params.name ?? '', outcome.task))
    const detail = `${call.params.name} has had its last tick; replace it by a PUT to give it new ticks`
    return answerProblem(problem('conflict', detail))
  }
}

async function handleTrigger(call: OneCall<unknown>, scheduleId: string): Promise<Answer> {
  const outcome = await triggerSchedule(call.system, scheduleId)
  if (outcome.ok) {
    const { id } = outcome.task
    return { status: 202, body: { taskId: id }, headers: { location: api.pathOf('get', id) } }
  }
  if (outcome.reason === 'unknown') return answerUnknown(call)
  return answerProblem(publishProblem(outcome.outcome, call.requestId, 'task'))
}

async function handleTicks(call: Call<api.TicksQuery, unknown>, id: string): Promise<Answer> {
  const { system, query } = call
  const { limit = PAGE_ITEMS_DEFAULT, cursor } = query
  const before = cursor === undefined ? {} : { before: Number(cursor) }
  const page = await readTicks(system, id, { limit, ...before })
  if (!page) return answerUnknown(call)
  const { ticks, hasMore } = page
  const items = await sideBySide(ticks, limit, async ({ at, taskId, task }) => ({
    ...{ at: iso(at), taskId },
    ...(task && { task: await showTask(call, task, true) }),
  }))
  const last = hasMore ? ticks.at(-1) : undefined
  return { status: 200, body: { items, ...(last && { nextCursor: String(last.at) }) } }
}

function answerUnknown({ params }: OneCall<unknown>): Answer {
  return answerProblem(problem('not-found', `there is no schedule ${params.name}`))
}

function presentSchedule({ head, task, nextRunAt }: ScheduleDescription): api.ApiSchedule {
  const { schedule, error, finishedAt } = head
  return {
    name: head.key,
    ...presentTiming(schedule.timing),
    ...defined({
      missed: schedule.missed,
      graceMs: schedule.graceMs,
      task,
      managedBy: schedule.managedBy,
      paused: schedule.paused,
      lastRunAt: isoOf(schedule.lastRunAt),
      nextRunAt: isoOf(nextRunAt),
      lastError: error,
      createdAt: iso(head.createdAt),
      updatedAt: iso(head.updatedAt),
      revision: editsOf(head),
      finishedAt: isoOf(finishedAt),
    }),
    ...presentOperations(head),
  }
}

function presentTiming(timing: Timing): Pick<api.ApiSchedule, 'cron' | 'timezone' | 'everyMs' | 'at'> {
  switch (timing.kind) {
    case 'cron':
      return { cron: timing.cron, timezone: timing.timezone }
    case 'every':
      return { everyMs: timing.everyMs }
    case 'at':
      return { at: iso(timing.at) }
  }
}
