/**
 * EventBridge Scheduler: its API (`api.ts`), the schedules (`schedule.ts`) and their store (`schedule-store.ts`), their due times
 * (`expression.ts`), and the loop that fires them (`runner.ts`).
 */

import { nameOfArn } from '../account.ts'
import type { StateFile } from '../data-folder/state-file.ts'
import type { Functions } from '../functions/functions.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Meter } from '../gateway/meter.ts'
import type { Permissions } from '../permissions/permissions.ts'
import type { Stack } from '../template/stack.ts'
import { createSchedulerApi } from './api.ts'
import { createScheduleRunner } from './runner.ts'
import type { Schedule, ScheduleRequest, Target } from './schedule.ts'
import { createScheduleStore, type KeptSchedules } from './schedule-store.ts'

/** The controls of Scheduler for tests and tools. */
export type Scheduler = {
  /** Scheduler time in Unix ms. */
  now(): number
  /** Moves the time of Scheduler alone forward and fires what becomes due. */
  advance(ms: number): Promise<void>
  /** Fires the schedule with this name, or the only one whose name contains it, at once. */
  fire(name: string): Promise<void>
  /** From now on the schedule fires only by `fire`. */
  disable(name: string): void
  schedules(): readonly Schedule[]
}

type Parts = {
  readonly gateway: Gateway
  readonly functions: Functions
  readonly meter: Meter
  readonly permissions: Permissions
  readonly state: StateFile<KeptSchedules>
  readonly queueUrl: (name: string) => string
  readonly log: (line: string) => void
}

/** Serves Scheduler behind the gateway, and creates the template's groups and schedules in it. */
export function startScheduler(stack: Stack, parts: Parts): Scheduler & { begin(): void; stop(): void } {
  const store = createScheduleStore(parts.state, Date.now())
  const runner = createScheduleRunner({
    store,
    log: parts.log,
    invoke: (target, input, schedule) => invokeTarget(target, input, schedule, parts),
    deadLetter: async (queueArn, input, { Name, Target: { RoleArn } }) => {
      const message = { QueueUrl: parts.queueUrl(nameOfArn(queueArn)), MessageBody: input }
      await parts.gateway.call(`schedule/${Name}`, 'sqs', 'SendMessage', message, RoleArn)
    },
  })
  parts.gateway.serve('scheduler', createSchedulerApi(store, runner))

  for (const id of stack.ids('AWS::Scheduler::ScheduleGroup')) {
    const name = stack.describe(id).physicalId
    if (!store.group(name)) store.putGroup(name, Date.now())
  }

  function createTemplateSchedules() {
    for (const id of stack.ids('AWS::Scheduler::Schedule')) {
      const { Name: _name, ...request } = stack.properties(id) as ScheduleRequest & { Name?: string }
      store.put(
        request.GroupName ?? 'default',
        stack.describe(id).physicalId,
        withSeconds(request),
        Date.now(),
      )
    }
  }

  function findSchedule(name: string) {
    const all = store.list()
    const found = all.find(({ Name }) => Name === name) ?? all.find(({ Name }) => Name.includes(name))
    if (found) return found
    throw new Error(`There is no schedule ${name}; there are ${all.map(({ Name }) => Name).join(', ')}`)
  }

  return {
    now: runner.now,
    advance: runner.advance,
    fire: name => runner.fire(findSchedule(name)),
    disable: name => {
      const { GroupName, Name, ...schedule } = findSchedule(name)
      store.put(GroupName, Name, { ...schedule, State: 'DISABLED' }, Date.now())
      runner.rearm()
    },
    schedules: store.list,
    begin: () => {
      createTemplateSchedules()
      runner.rearm()
    },
    stop: runner.stop,
  }
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

async function invokeTarget(target: Target, input: string, { Name }: Schedule, parts: Parts) {
  const usageKey = {
    caller: `schedule/${Name}`,
    service: 'scheduler',
    operation: 'InvokeTarget',
    resource: '',
  }
  parts.meter.add(usageKey, { calls: 1, requests: 1 })
  if (target.Arn.startsWith('arn:aws:lambda:')) {
    const asked = { action: 'lambda:InvokeFunction', resource: target.Arn }
    if (!parts.permissions.allows(target.RoleArn, asked))
      throw new Error(`${target.RoleArn} may not invoke ${target.Arn}`)
    return parts.functions.find(target.Arn).invokeLater(JSON.parse(input))
  }
  const message = {
    QueueUrl: parts.queueUrl(nameOfArn(target.Arn)),
    MessageBody: input,
    ...target.SqsParameters,
  }
  await parts.gateway.call(`schedule/${Name}`, 'sqs', 'SendMessage', message, target.RoleArn)
}
