import { arnOf } from '../account.ts'
import type { StateFile } from '../data-folder/state-file.ts'
import { readExpression } from './expression.ts'

type Group = { readonly Name: string; readonly Arn: string; readonly CreationDate: number }

export type KeptSchedules = {
  readonly groups: Readonly<Record<string, Group>>
  /** The schedules by `group/name`. */
  readonly schedules: Readonly<Record<string, Schedule>>
}

export const noSchedules: KeptSchedules = { groups: {}, schedules: {} }

export type ScheduleStore = {
  group(name: string): Group | undefined
  groups(): Group[]
  putGroup(name: string, now: number): Group
  /** Deletes the group and its schedules. */
  deleteGroup(name: string): void
  find(group: string, name: string): Schedule | undefined
  list(): Schedule[]
  /** Creates a schedule, or replaces all of it as UpdateSchedule does. */
  put(group: string, name: string, request: ScheduleRequest, now: number): Schedule
  markFired(schedule: Schedule, at: number): void
  delete(schedule: Schedule): void
}

/** Schedules by group and name. They are kept in the state's file if it has one. */
export function createScheduleStore(state: StateFile<KeptSchedules>, now: number): ScheduleStore {
  // There is one working copy: rebuilding the kept value at every change would cost n² for many schedules.
  const groups = new Map(Object.entries(state.read().groups))
  const schedules = new Map(Object.entries(state.read().schedules))
  const save = () => state.write(snapshot)
  const snapshot = {
    get groups() {
      return Object.fromEntries(groups)
    },
    get schedules() {
      return Object.fromEntries(schedules)
    },
  }

  function putGroup(name: string, at: number) {
    const group = { Name: name, Arn: arnOf('scheduler', `schedule-group/${name}`), CreationDate: at / 1000 }
    groups.set(name, group)
    save()
    return group
  }

  if (!groups.has('default')) putGroup('default', now)

  return {
    group: name => groups.get(name),
    groups: () => [...groups.values()],
    putGroup,
    deleteGroup: name => {
      groups.delete(name)
      for (const [key, { GroupName }] of schedules) if (GroupName === name) schedules.delete(key)
      save()
    },
    find: (group, name) => schedules.get(keyOf(group, name)),
    list: () => [...schedules.values()],
    put: (group, name, request, at) => {
      const before = schedules.get(keyOf(group, name))
      const schedule = {
        ...request,
        Name: name,
        GroupName: group,
        Arn: arnOf('scheduler', `schedule/${group}/${name}`),
        CreationDate: before?.CreationDate ?? at / 1000,
        LastModificationDate: at / 1000,
      }
      schedules.set(keyOf(group, name), schedule)
      save()
      return schedule
    },
    markFired: (schedule, at) => {
      const key = keyOf(schedule.GroupName, schedule.Name)
      if (!schedules.has(key)) return
      schedules.set(key, { ...schedule, firedAt: at })
      save()
    },
    delete: ({ GroupName, Name }) => {
      schedules.delete(keyOf(GroupName, Name))
      save()
    },
  }
}

const keyOf = (group: string, name: string) => `${group}/${name}`

type RetryPolicy = {
  readonly MaximumRetryAttempts?: number
  readonly MaximumEventAgeInSeconds?: number
}

export type Target = {
  readonly Arn: string
  readonly RoleArn: string
  readonly Input?: string
  readonly RetryPolicy?: RetryPolicy
  readonly DeadLetterConfig?: { readonly Arn?: string }
  readonly SqsParameters?: { readonly MessageGroupId?: string }
}

/** A caller's description of a schedule. Dates are Unix seconds, as in the protocol. */
export type ScheduleRequest = {
  readonly ScheduleExpression: string
  readonly ScheduleExpressionTimezone?: string
  readonly StartDate?: number
  readonly EndDate?: number
  readonly State?: 'ENABLED' | 'DISABLED'
  readonly Description?: string
  readonly FlexibleTimeWindow: { readonly Mode: string; readonly MaximumWindowInMinutes?: number }
  readonly Target: Target
  readonly ActionAfterCompletion?: 'NONE' | 'DELETE'
  readonly GroupName?: string
}

export type Schedule = ScheduleRequest & {
  readonly Name: string
  readonly GroupName: string
  readonly Arn: string
  /** Unix seconds. */
  readonly CreationDate: number
  readonly LastModificationDate: number
  /** Unix ms of the last firing. A recurring schedule fires only after it, and a one-time schedule never again. */
  readonly firedAt?: number
}

const namePattern = /^[0-9a-zA-Z\-_.]{1,64}$/
const INPUT_BYTES_MAX = 256 * 1024

/** The problem of a request, as a ValidationException words it; `undefined` if there is none. */
export function findFault(name: string, request: Partial<ScheduleRequest>): string | undefined {
  const { ScheduleExpression, ScheduleExpressionTimezone, FlexibleTimeWindow, Target } = request
  if (!namePattern.test(name)) return `Invalid schedule name ${name}.`
  if (!isTimezone(ScheduleExpressionTimezone)) return `Invalid Timezone ${ScheduleExpressionTimezone}.`
  if (!readExpression(ScheduleExpression ?? '', ScheduleExpressionTimezone)) {
    return `Invalid Schedule Expression ${ScheduleExpression}.`
  }
  if (!FlexibleTimeWindow?.Mode) return 'FlexibleTimeWindow must be set.'
  return findTargetFault(Target)
}

function findTargetFault(target: Partial<Target> | undefined): string | undefined {
  if (!target?.Arn || !target.RoleArn) return 'Target must have an Arn and a RoleArn.'
  if (!/^arn:aws:(sqs|lambda):/.test(target.Arn)) return `Target ${target.Arn} is not supported locally.`
  const { MaximumRetryAttempts: retries = 0, MaximumEventAgeInSeconds: age = 60 } = target.RetryPolicy ?? {}
  if (retries < 0 || retries > 185) return 'MaximumRetryAttempts must be between 0 and 185.'
  if (age < 60 || age > 86_400) return 'MaximumEventAgeInSeconds must be between 60 and 86400.'
  const tooLarge = Buffer.byteLength(target.Input ?? '') > INPUT_BYTES_MAX
  return tooLarge ? 'Input must not be larger than 256 KB.' : undefined
}

function isTimezone(timeZone: string | undefined) {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: timeZone ?? 'UTC' })
    return true
  } catch {
    return false
  }
}
