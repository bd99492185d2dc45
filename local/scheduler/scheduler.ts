/**
 * EventBridge Scheduler: its API (`api.ts`), the schedules with their expressions and their store (`schedules.ts`), and the loop
 * that fires them (`runner.ts`).
 */

import { isDeepStrictEqual } from 'node:util'
import { nameOfArn } from '../account.ts'
import type { StateFile } from '../data-folder.ts'
import type { Functions } from '../functions/functions.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Meter } from '../gateway/meter.ts'
import type { Permissions } from '../permissions/permissions.ts'
import type { Stack } from '../template/stack.ts'
import { createSchedulerApi } from './api.ts'
import { createScheduleRunner, type Undelivered } from './runner.ts'
import type { KeptSchedules, Schedule, ScheduleRequest, Target } from './schedules.ts'
import { createScheduleStore } from './schedules.ts'

type Parts = {
  readonly gateway: Gateway
  readonly functions: Functions
  readonly meter: Meter
  readonly state: StateFile<KeptSchedules>
  readonly queueUrl: (name: string) => string
  readonly log: (line: string) => void
}

/** Serves Scheduler behind the gateway. Schedules that programs have created outlive deployments, and so do their groups. */
export function startScheduler(parts: Parts) {
  let permissions: Permissions | undefined
  const store = createScheduleStore(parts.state, Date.now())
  const runner = createScheduleRunner({
    store,
    log: parts.log,
    invoke: (target, input, schedule) => invokeTarget(target, input, schedule, { ...parts, permissions }),
    deadLetter: (queueArn, lost, schedule) =>
      send(parts, schedule, queueArn, {
        MessageBody: lost.input,
        MessageAttributes: attributesOf(lost, schedule),
      }),
  })
  parts.gateway.serve('scheduler', createSchedulerApi(store, runner))

  /** The schedules of the present stack, by their names. */
  let deployed = new Map<string, TemplateSchedule>()

  /**
   * Creates the schedules of a stack, updates the changed ones, and deletes those that only the last stack had. From now on the
   * permissions of this deployment count.
   */
  function deploy({ groups, schedules }: TemplateSchedules, checkedBy: Permissions) {
    permissions = checkedBy
    for (const group of groups.filter(name => !store.group(name))) store.putGroup(group, Date.now())
    const wanted = new Map(schedules.map(one => [keyOf(one), one]))
    // An unchanged schedule keeps its state, which a program may have changed.
    const changed = schedules.filter(one => !isDeepStrictEqual(deployed.get(keyOf(one)), one))
    for (const { group, name, request } of changed) store.put(group, name, request, Date.now())
    const gone = [...deployed].filter(([key]) => !wanted.has(key))
    for (const [, { group, name }] of gone) {
      const schedule = store.find(group, name)
      if (schedule) store.delete(schedule)
    }
    deployed = wanted
    runner.rearm()
  }

  return {
    now: runner.now,
    advance: runner.advance,
    /** Fires the schedule with this name, or the only one whose name contains it, at once. */
    fire: (name: string) => runner.fire(findSchedule(store.list(), name)),
    /** From now on the schedule fires only by `fire`. */
    disable: (name: string) => {
      const { GroupName, Name, ...schedule } = findSchedule(store.list(), name)
      store.put(GroupName, Name, { ...schedule, State: 'DISABLED' }, Date.now())
      runner.rearm()
    },
    schedules: store.list,
    deploy,
    stop: runner.stop,
  }
}

function findSchedule(all: readonly Schedule[], name: string): Schedule {
  const found = all.find(({ Name }) => Name === name) ?? all.find(({ Name }) => Name.includes(name))
  if (found) return found
  throw new Error(`There is no schedule ${name}; there are ${all.map(({ Name }) => Name).join(', ')}`)
}

/** What Scheduler adds to an event that it gives up. Source: EventBridge Scheduler, dead-letter queues. */
function attributesOf({ error, attempts, exhausted }: Undelivered, { Arn, Target }: Schedule) {
  const texts = {
    ERROR_CODE: 'AWS.Scheduler.InternalServerError',
    ERROR_MESSAGE: error,
    EXHAUSTED_RETRY_CONDITION: exhausted,
    RETRY_ATTEMPTS: String(attempts - 1),
    SCHEDULE_ARN: Arn,
    TARGET_ARN: Target.Arn,
    IS_PAYLOAD_TRUNCATED: 'false',
  }
  return Object.fromEntries(
    Object.entries(texts).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
  )
}

/** The groups and schedules of a stack. */
type TemplateSchedules = ReturnType<typeof readSchedules>

type TemplateSchedule = { readonly group: string; readonly name: string; readonly request: ScheduleRequest }

const keyOf = ({ group, name }: TemplateSchedule) => `${group}/${name}`

export function readSchedules(stack: Stack) {
  const groups = stack.ids('AWS::Scheduler::ScheduleGroup').map(id => stack.describe(id).physicalId)
  const schedules = stack.ids('AWS::Scheduler::Schedule').map(id => {
    const { Name: _name, ...request } = stack.properties(id) as ScheduleRequest & { Name?: string }
    const group = request.GroupName ?? 'default'
    return { group, name: stack.describe(id).physicalId, request: withSeconds(request) }
  })
  return { groups, schedules }
}

// The template has dates as text, the protocol as Unix seconds.
function withSeconds(request: ScheduleRequest): ScheduleRequest {
  const { StartDate, EndDate } = request as { StartDate?: unknown; EndDate?: unknown }
  return {
    ...request,
    ...(typeof StartDate === 'string' ? { StartDate: Date.parse(StartDate) / 1000 } : {}),
    ...(typeof EndDate === 'string' ? { EndDate: Date.parse(EndDate) / 1000 } : {}),
  }
}

async function invokeTarget(
  target: Target,
  input: string,
  schedule: Schedule,
  parts: Parts & { readonly permissions: Permissions | undefined },
): Promise<void> {
  const invoking = { service: 'scheduler', operation: 'InvokeTarget', resource: '' }
  parts.meter.add({ ...invoking, caller: callerOf(schedule) }, { calls: 1, requests: 1 })
  if (target.Arn.startsWith('arn:aws:lambda:')) {
    const request = { action: 'lambda:InvokeFunction', resource: target.Arn }
    if (parts.permissions?.allows(target.RoleArn, request) === false)
      throw new Error(`${target.RoleArn} may not invoke ${target.Arn}`)
    return parts.functions.find(target.Arn).invokeLater(JSON.parse(input))
  }
  await send(parts, schedule, target.Arn, { MessageBody: input, ...target.SqsParameters })
}

async function send(
  { gateway, queueUrl }: Parts,
  schedule: Schedule,
  queueArn: string,
  message: object,
): Promise<void> {
  const request = { QueueUrl: queueUrl(nameOfArn(queueArn)), ...message }
  await gateway.call(callerOf(schedule), 'sqs', 'SendMessage', request, schedule.Target.RoleArn)
}

function callerOf({ Name }: Schedule): string {
  return `schedule/${Name}`
}
