import { Cron } from 'croner'
import { arnOf } from '../account.ts'
import type { StateFile } from '../data-folder.ts'

type Group = { readonly Name: string; readonly Arn: string; readonly CreationDate: number }

export type KeptSchedules = {
  readonly groups: Readonly<Record<string, Group>>
  readonly schedules: Readonly<Record<string, Schedule>>
}

export const noSchedules: KeptSchedules = { groups: {}, schedules: {} }

export type ScheduleStore = ReturnType<typeof createScheduleStore>

/** Schedules by group and name. They are kept in the state's file if it has one. */
export function createScheduleStore(state: StateFile<KeptSchedules>, now: number) {
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
    group: (name: string) => groups.get(name),
    groups: () => [...groups.values()],
    putGroup,
    deleteGroup: (name: string) => {
      groups.delete(name)
      for (const [key, { GroupName }] of schedules) if (GroupName === name) schedules.delete(key)
      save()
    },
    find: (group: string, name: string) => schedules.get(keyOf(group, name)),
    list: () => [...schedules.values()],
    /** Creates a schedule, or replaces all of it as UpdateSchedule does. */
    put: (group: string, name: string, request: ScheduleRequest, at: number): Schedule => {
      const before = schedules.get(keyOf(group, name))
      const schedule = {
        ...{ ...request, Name: name, GroupName: group, Arn: arnOf('scheduler', `schedule/${group}/${name}`) },
        CreationDate: before?.CreationDate ?? at / 1000,
        LastModificationDate: at / 1000,
      }
      schedules.set(keyOf(group, name), schedule)
      save()
      return schedule
    },
    markFired: (schedule: Schedule, at: number) => {
      const key = keyOf(schedule.GroupName, schedule.Name)
      if (!schedules.has(key)) return
      schedules.set(key, { ...schedule, firedAt: at })
      save()
    },
    delete: ({ GroupName, Name }: Schedule) => {
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
  if (!readExpression(ScheduleExpression ?? '', ScheduleExpressionTimezone))
    return `Invalid Schedule Expression ${ScheduleExpression}.`
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

/** When a schedule fires: once, at an interval, or by a calendar. */
type Timing =
  | { readonly kind: 'once'; readonly at: number }
  | { readonly kind: 'rate'; readonly everyMs: number }
  | { readonly kind: 'calendar'; readonly cron: Cron }

const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** Reads `at(…)`, `rate(…)` or `cron(…)`; `undefined` for any other text. Wall-clock times are in `timezone`. */
export function readExpression(expression: string, timezone = 'UTC'): Timing | undefined {
  const [, kind, content] = /^(at|rate|cron)\((.+)\)$/.exec(expression) ?? []
  if (content === undefined) return undefined
  if (kind === 'at') return readOnce(content, timezone)
  if (kind === 'rate') return readRate(content)
  return readCalendar(content, timezone)
}

function readOnce(content: string, timezone: string): Timing | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(content)) return undefined
  const at = tried(() => new Cron(content, { timezone, paused: true }).getOnce()?.getTime())
  return at === undefined ? undefined : { kind: 'once', at }
}

function readRate(content: string): Timing | undefined {
  const [, count, unit = ''] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(content) ?? []
  const ms = unitMs[unit]
  return count === undefined || ms === undefined ? undefined : { kind: 'rate', everyMs: Number(count) * ms }
}

/** Six fields: minutes hours day-of-month month day-of-week year, and one of the day fields must be `?`. */
function readCalendar(content: string, timezone: string): Timing | undefined {
  const [minutes, hours, days, months, weekdays, years, ...rest] = content.trim().split(/\s+/)
  if (years === undefined || rest.length > 0 || weekdays === undefined) return undefined
  if ((days === '?') === (weekdays === '?')) return undefined
  const pattern = ['0', minutes, hours, anyDay(days), months, anyDay(fromSundayZero(weekdays)), years].join(
    ' ',
  )
  const cron = tried(() => new Cron(pattern, { timezone, mode: '7-part', sloppyRanges: true, paused: true }))
  return cron && { kind: 'calendar', cron }
}

const anyDay = (field = '*') => (field === '?' ? '*' : field)

// AWS counts weekdays from Sunday = 1, croner from Sunday = 0; the number after `#` counts weeks.
const fromSundayZero = (field: string) => field.replace(/(?<![#\d/])\d/g, digit => String(Number(digit) - 1))

/** The first time strictly after `after`; `undefined` if there is none. A rate counts from `begin`. */
export function nextFiring(timing: Timing, begin: number, after: number): number | undefined {
  switch (timing.kind) {
    case 'once':
      return timing.at > after ? timing.at : undefined
    case 'rate':
      return begin + (Math.floor(Math.max(0, after - begin) / timing.everyMs) + 1) * timing.everyMs
    case 'calendar':
      return timing.cron.nextRun(new Date(after))?.getTime()
  }
}

function tried<T>(attempt: () => T): T | undefined {
  try {
    return attempt()
  } catch {
    return undefined
  }
}
