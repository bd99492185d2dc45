import type { PatchBody } from '../../api/changes.ts'
import type { Problem } from '../../api/problems.ts'
import { type DerivedBody, type PublishBody, publishBody } from '../../api/publish.ts'
import { type ScheduleBody, scheduleBody } from '../../api/schedules.ts'
import type { ListQuery } from '../../api/tasks.ts'
import {
  BODY_BYTES_MAX,
  DELAY_MS_MAX,
  DERIVED_KEY_CHARACTERS_MAX,
  KEY_CHARACTERS_MAX,
  SCHEDULE_GRACE_MS,
} from '../../core/bounds.ts'
import type { PatchedOptions } from '../../core/options.ts'
import { joinPath } from '../../core/rules/rules.ts'
import { pathName } from '../../core/rules/scalars.ts'
import { refusalOf, typeNameRule } from '../../core/rules/type-configuration.ts'
import type { Missed, Timing } from '../../core/task/head-fields.ts'
import { splitRunId, splitTaskId } from '../../core/task/task.ts'
import { reservedFor } from '../../core/types/task-type.ts'
import { isName } from '../../core/values/text.ts'
import { defined, type FieldProblem, type Json, jsonBytes } from '../../core/values/values.ts'
import { timingProblems } from '../../cron/cron-ticks.ts'
import type { System } from '../../runtime/kernel/system.ts'
import type { PatchRequest } from '../../runtime/operate/patch-task.ts'
import type { PublishRequest } from '../../runtime/publish/resolve-publication.ts'
import { optionsIn, requestOfBody, timeOf } from '../../runtime/publish/resolve-publication.ts'
import type { RunReference } from '../../runtime/run/http-runs.ts'
import type { ScheduleRequest } from '../../runtime/schedule/schedule.ts'
import { registeredNames } from '../../runtime/types/types.ts'
import { type Answer, answerProblem, type Call, check } from '../operation.ts'
import { invalid, noSuchTask, unknownTypes } from '../present/problems.ts'

/** Finds the problems that no rule expresses: fields that exclude each other, and bounds that depend on the time. */
export function fieldProblems(body: PublishBody | PatchBody, now: number, at = ''): FieldProblem[] {
  const { dueAt, delayMs } = body
  const problems: FieldProblem[] = []
  const add = (field: string, message: string) => {
    problems.push({ path: at === '' ? field : `${at}.${field}`, message })
  }
  if (dueAt !== undefined && delayMs !== undefined) add('delayMs', 'excludes dueAt: give one of the two')
  if (dueAt !== undefined && Date.parse(dueAt) > now + DELAY_MS_MAX) add('dueAt', 'must be within ten years')
  if ('clean' in body && body.ifExists !== 'restart') add('clean', 'is for ifExists "restart" only')
  if ('debounce' in body || 'throttle' in body) problems.push(...spacingProblems(body, at))
  return [...problems, ...callbackProblems(body, now, at)]
}

/** Returns the problem of a span of time that contains no time, or undefined. */
export function emptySpanProblem({
  since,
  until,
}: Pick<ListQuery, 'since' | 'until'>): FieldProblem | undefined {
  const isEmpty = since !== undefined && until !== undefined && Date.parse(since) >= Date.parse(until)
  return isEmpty ? { path: 'until', message: `must be later than since, which is ${since}` } : undefined
}

/** `debounce` and `throttle` decide the due time and what happens to an existing task. So no other field may decide these. */
function spacingProblems(body: Partial<PublishBody>, at: string): FieldProblem[] {
  const { debounce, key } = body
  const field = debounce ? 'debounce' : 'throttle'
  const excluded = [
    ...(['ifExists', 'dueAt', 'delayMs'] as const),
    ...(debounce ? (['throttle'] as const) : []),
  ].filter(name => body[name] !== undefined)
  const tooShort = debounce?.maxWaitMs !== undefined && debounce.maxWaitMs < debounce.ms
  return [
    ...(key === undefined ? [{ path: joinPath(at, ['key']), message: `is required with ${field}` }] : []),
    ...excluded.map(name => ({ path: joinPath(at, [name]), message: `does not go with ${field}` })),
    ...(tooShort
      ? [
          {
            path: joinPath(at, ['debounce', 'maxWaitMs']),
            message: `must be at least debounce.ms, which is ${debounce.ms}`,
          },
        ]
      : []),
  ]
}

function callbackProblems(body: PublishBody | PatchBody, now: number, at: string): FieldProblem[] {
  const { onSuccess = [], onError = [] } = 'type' in body ? body : {}
  const problemsIn = (when: string, callbacks: readonly DerivedBody[]) =>
    callbacks.flatMap((callback, index) => fieldProblems(callback, now, joinPath(at, [when, String(index)])))
  return [...problemsIn('onSuccess', onSuccess), ...problemsIn('onError', onError)]
}

/** Returns the problem of callbacks that are too long to be stored with their task, or undefined. */
export function callbacksSizeProblem(body: DerivedBody, at: string): FieldProblem | undefined {
  const { onSuccess, onError } = requestOfBody(body)
  if (!onSuccess && !onError) return undefined
  const stored = { onSuccess: onSuccess ?? [], onError: onError ?? [] } as unknown as Json
  return sizeProblem(stored, joinPath(at, [onSuccess ? 'onSuccess' : 'onError']))
}

/** Returns the problem of a value that is too long to be stored, or undefined. */
export function sizeProblem(value: Json | undefined, path: string): FieldProblem | undefined {
  if (value === undefined) return undefined
  const bytes = jsonBytes(value)
  if (bytes <= BODY_BYTES_MAX) return undefined
  return { path, message: `has ${bytes} bytes as JSON; at most ${BODY_BYTES_MAX} are stored` }
}

export type ReadPublish =
  | { readonly ok: true; readonly body: PublishBody; readonly request: PublishRequest }
  | { readonly ok: false; readonly problem: Problem }

/** Makes the request of a publish, or returns the problem of its body. `at` is the path of the body. */
export function readPublish(
  body: unknown,
  now: number,
  {
    at = '',
    trace,
    by,
  }: { readonly at?: string; readonly trace?: string | undefined; readonly by?: string | undefined } = {},
): ReadPublish {
  const checked = check(publishBody, body, at)
  if (!checked.ok) return { ok: false, problem: invalid(checked.problems) }
  const problems = fieldProblems(checked.value, now, at)
  if (problems.length > 0) return { ok: false, problem: invalid(problems) }
  const tooLarge =
    sizeProblem(checked.value.input, joinPath(at, ['input'])) ?? callbacksSizeProblem(checked.value, at)
  if (tooLarge) return { ok: false, problem: invalid([tooLarge], 'too-large') }
  return { ok: true, body: checked.value, request: publishRequestOf(checked.value, trace, by) }
}

/** `trace` is the trace of the caller, which the task continues unless the body names one. */
export function publishRequestOf(body: PublishBody, trace?: string, by?: string): PublishRequest {
  const { ifExists, clean, debounce, throttle, traceparent = trace } = body
  return { ...requestOfBody(body), ...defined({ ifExists, clean, traceparent, debounce, throttle, by }) }
}

export function patchRequestOf(body: PatchBody): PatchRequest {
  const { input, tags, delayMs, priority, stage } = body
  const options = optionsIn<PatchedOptions>(body)
  return {
    ...defined({ input, tags, delayMs, priority, stage, dueAt: timeOf(body.dueAt) }),
    ...(Object.keys(options).length > 0 && { options }),
  }
}

/**
 * Whether a task can have this id. Ids of canvases and schedules have the same form, and are refused. Callers ask the store only for
 * such ids, because the store cannot hold longer ones.
 */
export function isTaskId(id: string): boolean {
  const parts = splitTaskId(id)
  if (!parts || reservedFor(parts.type)) return false
  return typeNameRule.problems(parts.type, '').length === 0 && isName(parts.key, DERIVED_KEY_CHARACTERS_MAX)
}

/** Serves a call whose `id` a task can have. For any other id it answers that there is no such task. */
export function forTask<Query, Body, On>(
  handle: (call: Call<Query, Body, On>, id: string) => Promise<Answer>,
): (call: Call<Query, Body, On>) => Promise<Answer> {
  return async call => {
    const { id = '' } = call.params
    return isTaskId(id) ? handle(call, id) : answerProblem(noSuchTask(id))
  }
}

/** The types that a query names, or all of them when it names none. The problem when one of them is not registered. */
export async function wantedTypes(system: System, given: readonly string[]): Promise<string[] | Problem> {
  const existing = await registeredNames(system)
  const unknown = given.filter(name => !existing.includes(name)).map(type => ({ type, path: 'type' }))
  if (unknown.length > 0) return unknownTypes(unknown, existing)
  return given.length > 0 ? [...new Set(given)] : existing
}

/** The run that a request names, or undefined when no run can have this id. */
export function runReference(taskId: string, runId: string): RunReference | undefined {
  const run = splitRunId(runId)
  return run && isTaskId(taskId) ? { taskId, ...run } : undefined
}

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

/** Makes the request of a schedule, or returns its problems: fields that exclude each other, or bounds that no rule expresses. */
export function scheduleRequestOf(name: string, body: ScheduleBody, now: number): Read {
  const timing = timingOf(body)
  const problems = [
    ...pathName(KEY_CHARACTERS_MAX).problems(name, 'name'),
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

function timingOf({ cron, everyMs, at, timezone = 'UTC' }: ScheduleBody): Timing | undefined {
  if (cron !== undefined) return { kind: 'cron', cron, timezone }
  if (everyMs !== undefined) return { kind: 'every', everyMs }
  return at === undefined ? undefined : { kind: 'at', at: Date.parse(at) }
}

/** Returns what happens to missed ticks. By default, a schedule with `at` catches up its only tick; others skip missed ticks. */
function missedOf({ missed, at }: ScheduleBody): Missed {
  return missed ?? (at === undefined ? 'skip' : { catchUp: 1 })
}
