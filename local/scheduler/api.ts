import { type Answer, type Backend, errorAnswer, jsonAnswer, readSchedulerCall } from '../gateway/call.ts'
import type { ScheduleRunner } from './runner.ts'
import { findFault, type Schedule, type ScheduleRequest, type ScheduleStore } from './schedules.ts'

type SchedulerRequest = {
  readonly operation: string
  readonly name: string
  readonly group: string
  readonly query: URLSearchParams
  readonly body: Partial<ScheduleRequest>
}

type Scheduler = { readonly store: ScheduleStore; readonly runner: ScheduleRunner }

type Operation = (scheduler: Scheduler, request: SchedulerRequest) => Answer

const PAGE_SCHEDULES = 100

/** The REST API of EventBridge Scheduler, as its SDK client uses it. */
export function createSchedulerApi(store: ScheduleStore, runner: ScheduleRunner): Backend {
  return async call => {
    const { body, ...named } = readSchedulerCall(call)
    const request = { operation: call.operation, ...named, body: body as Partial<ScheduleRequest> }
    const operation = OPERATIONS[request.operation]
    return operation
      ? operation({ store, runner }, request)
      : errorAnswer(400, 'ValidationException', `${call.method} ${call.path}`)
  }
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  CreateSchedule: (scheduler, request) =>
    scheduler.store.find(request.group, request.name)
      ? conflict(`Schedule ${request.name} already exists.`)
      : accept(scheduler, request),
  UpdateSchedule: (scheduler, request) =>
    scheduler.store.find(request.group, request.name) ? accept(scheduler, request) : missing(request),
  GetSchedule: ({ store }, request) => {
    const schedule = store.find(request.group, request.name)
    return schedule ? ok(described(schedule)) : missing(request)
  },
  DeleteSchedule: ({ store, runner }, request) => {
    const schedule = store.find(request.group, request.name)
    if (!schedule) return missing(request)
    store.delete(schedule)
    runner.rearm()
    return ok({})
  },
  ListSchedules: listSchedules,
  CreateScheduleGroup: ({ store, runner }, { name }) => {
    if (store.group(name)) return conflict(`Schedule group ${name} already exists.`)
    return ok({ ScheduleGroupArn: store.putGroup(name, runner.now()).Arn })
  },
  GetScheduleGroup: ({ store }, request) => {
    const group = store.group(request.name)
    return group ? ok({ ...group, State: 'ACTIVE' }) : missing(request)
  },
  DeleteScheduleGroup: ({ store, runner }, request) => {
    if (!store.group(request.name)) return missing(request)
    store.deleteGroup(request.name)
    runner.rearm()
    return ok({})
  },
  ListScheduleGroups: ({ store }) =>
    ok({ ScheduleGroups: store.groups().map(group => ({ ...group, State: 'ACTIVE' })) }),
}

function accept({ store, runner }: Scheduler, { name, group, body }: SchedulerRequest): Answer {
  if (!store.group(group)) return notFound(`Schedule group ${group} does not exist.`)
  const fault = findFault(name, body)
  if (fault) return errorAnswer(400, 'ValidationException', fault)
  const { Arn } = store.put(group, name, body as ScheduleRequest, runner.now())
  runner.rearm()
  return ok({ ScheduleArn: Arn })
}

function listSchedules({ store }: Scheduler, { query }: SchedulerRequest): Answer {
  const group = query.get('ScheduleGroup')
  const prefix = query.get('NamePrefix') ?? ''
  const from = Number(query.get('NextToken') ?? 0)
  const limit = Number(query.get('MaxResults') ?? PAGE_SCHEDULES)
  const found = store
    .list()
    .filter(({ GroupName, Name }) => (group === null || GroupName === group) && Name.startsWith(prefix))
  const more = from + limit < found.length ? { NextToken: String(from + limit) } : {}
  return ok({ Schedules: found.slice(from, from + limit).map(summary), ...more })
}

const ok = (body: unknown) => jsonAnswer(200, body, { 'content-type': 'application/json' })

const conflict = (message: string) => errorAnswer(409, 'ConflictException', message)
const notFound = (message: string) => errorAnswer(404, 'ResourceNotFoundException', message)

function missing({ operation, name }: SchedulerRequest) {
  const noun = operation.endsWith('Group') ? 'Schedule group' : 'Schedule'
  return notFound(`${noun} ${name} does not exist.`)
}

function described(schedule: Schedule) {
  const { firedAt: _internal, ...rest } = schedule
  return {
    State: 'ENABLED',
    ActionAfterCompletion: 'NONE',
    ScheduleExpressionTimezone: 'UTC',
    ...rest,
  }
}

const summary = ({ Arn, Name, GroupName, State, CreationDate, LastModificationDate, Target }: Schedule) => ({
  Arn,
  Name,
  GroupName,
  State: State ?? 'ENABLED',
  CreationDate,
  LastModificationDate,
  Target: { Arn: Target.Arn },
})
