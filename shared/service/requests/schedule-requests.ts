import { type ScheduleBody, scheduleBody } from '../../api/schedules.ts'
import { DELAY_MS_MAX, KEY_CHARACTERS_MAX, SCHEDULE_GRACE_MS } from '../../core/bounds.ts'
import { pathName } from '../../core/rules/scalars.ts'
import { refusalOf } from '../../core/rules/type-configuration.ts'
import type { Missed, Timing } from '../../core/task/head-fields.ts'
import type { FieldProblem, Json } from '../../core/values/values.ts'
import { cronProblem } from '../../cron/cron-ticks.ts'
import { isTimezone } from '../../cron/wall-clock.ts'
import type { ScheduleRequest } from '../../runtime/schedule/schedule.ts'
import { check } from '../operation.ts'
import { callbacksSizeProblem, fieldProblems, sizeProblem } from './publish-requests.ts'

type Read =
  | { readonly ok: true; readonly request: ScheduleRequest }
  | { readonly ok: false; readonly kind: 'invalid' | 'too-large'; readonly problems: readonly FieldProblem[] }

/**
 * Makes the request of a schedule in code, of which nothing is checked yet.
 *
 * @throws BatonError `invalid`, naming the schedule and each wrong field.
 */
export function readSchedule(name: string, body: unknown, now: number): ScheduleRequest {
  const checked = check(scheduleBody, body)
  const read = checked.ok ? scheduleRequestOf(name, checked.value, now) : checked
  if (read.ok) return read.request
  throw refusalOf(`schedule '${name}'`, read.problems)
}

/**
 * Makes the request of a schedule, or returns its problems: fields that exclude each other, or bounds that no rule expresses.
 */
export function scheduleRequestOf(name: string, body: ScheduleBody, now: number): Read {
  const timing = timingOf(body)
  const problems = [
    ...nameProblems(name),
    ...timingProblems(body, now),
    ...fieldProblems(body.task, now, 'task'),
  ]
  if (problems.length > 0 || !timing) return { ok: false, kind: 'invalid', problems }
  const tooLarge =
    sizeProblem(body.task as unknown as Json, 'task') ?? callbacksSizeProblem(body.task, 'task')
  if (tooLarge) return { ok: false, kind: 'too-large', problems: [tooLarge] }
  const { graceMs = SCHEDULE_GRACE_MS, task } = body
  return { ok: true, request: { timing, missed: missedOf(body), graceMs, task } }
}

function nameProblems(name: string): FieldProblem[] {
  return pathName(KEY_CHARACTERS_MAX).problems(name, 'name')
}

function timingProblems({ cron, everyMs, at, timezone }: ScheduleBody, now: number): FieldProblem[] {
  const given = Object.entries({ cron, everyMs, at }).filter(([, value]) => value !== undefined)
  const [, secondTiming] = given
  const cronFault = cron === undefined ? undefined : cronProblem(cron)
  const isTooFar = at !== undefined && Date.parse(at) > now + DELAY_MS_MAX
  return [
    ...(given.length === 0 ? [{ path: 'cron', message: 'is required, unless everyMs or at is given' }] : []),
    ...(secondTiming
      ? [{ path: secondTiming[0], message: 'is one too many: give one of cron, everyMs and at' }]
      : []),
    ...(cronFault === undefined ? [] : [{ path: 'cron', message: cronFault }]),
    ...(isTooFar ? [{ path: 'at', message: 'must be within ten years' }] : []),
    ...(timezone === undefined ? [] : timezoneProblems(timezone, cron)),
  ]
}

function timezoneProblems(timezone: string, cron: string | undefined): FieldProblem[] {
  if (cron === undefined) return [{ path: 'timezone', message: 'is for cron only' }]
  if (isTimezone(timezone)) return []
  return [{ path: 'timezone', message: 'must be the IANA name of a time zone, such as Europe/Berlin' }]
}

function timingOf({ cron, everyMs, at, timezone = 'UTC' }: ScheduleBody): Timing | undefined {
  if (cron !== undefined) return { kind: 'cron', cron, timezone }
  if (everyMs !== undefined) return { kind: 'every', everyMs }
  return at === undefined ? undefined : { kind: 'at', at: Date.parse(at) }
}

/** Returns what happens to missed ticks. By default, a schedule with `at` catches up its only tick; others skip missed ticks. */
function missedOf({ missed, at }: ScheduleBody): Missed {
  return missed ?? (at === undefined ? 'skip' : { catchUp: 1 })
}
