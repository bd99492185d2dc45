/**
 * The public entry `baton-tasks/http`: the HTTP contract as schemas of zod, and the types of its requests and answers. The schemas are made
 * of the rules by which the API itself checks requests.
 */

import * as z from 'zod'
import type { ApiCanvas, CanvasAnswer, CanvasBody } from './api/canvases.ts'
import type { PatchBody, RetryTaskBody } from './api/changes.ts'
import type {
  ApiDeadLetter,
  DeadLettersQuery,
  ReplayAnswer,
  ReplayBody,
} from './api/diagnosis/dead-letters.ts'
import type { ApiFailureGroup, FailuresQuery } from './api/diagnosis/failures.ts'
import type { HealthAnswer } from './api/diagnosis/health.ts'
import type {
  ActivityPage,
  ActivityQuery,
  AllCountsQuery,
  CountsQuery,
  LimitUsage,
  LimitUsageQuery,
  TypeCounts,
} from './api/diagnosis/load.ts'
import type { WhyAnswer, WhyQuery } from './api/diagnosis/why.ts'
import * as rules from './api/index.ts'
import type { Problem } from './api/problems.ts'
import type { PublishAnswer, PublishBody, PublishResult } from './api/publish.ts'
import type {
  ClaimsAnswer,
  ClaimsBody,
  FailBody,
  FinishMember,
  HeartbeatAnswer,
  HeartbeatBody,
  ReleaseBody,
  RunName,
  RunResult,
  SucceedBody,
} from './api/runs.ts'
import type { Page, PageQuery } from './api/scalars.ts'
import type { ApiSchedule, ScheduleBody, TriggerAnswer } from './api/schedules.ts'
import type { ApiTask, ListQuery, TaskAnswer } from './api/tasks.ts'
import type { ApiType, Counts, PausedType, PurgeAnswer, PurgeBody, TypeBody } from './api/types.ts'
import type { ApiWorker } from './api/workers.ts'
import { COMPONENT, type Rule } from './core/rules/rules.ts'
import type { Json } from './core/values/json.ts'

export type * from './api/index.ts'
export { ENDPOINTS, pathOf, targetOf } from './api/index.ts'

/** A schema that refuses what the rule refuses, with the same words. Its constants have named types, so that declarations stay short. */
function schemaOf<Value>(rule: Rule): z.ZodType<Value> {
  const schema = z
    .unknown()
    .superRefine((value, context) => {
      for (const { path, message } of rule.problems(value, '')) {
        context.addIssue({ code: 'custom', message, path: pathIn(value, path) })
      }
    })
    .meta(withoutComponents(rule.schema) as Record<string, unknown>)
  return schema as unknown as z.ZodType<Value>
}

/** The path of a problem as zod has it: positions in lists are numbers. A member whose own name has dots is one step. */
function pathIn(value: unknown, path: string): Array<string | number> {
  if (path === '') return []
  const members = Object(value) as Record<string, unknown>
  const own = Object.keys(members).filter(name => path === name || path.startsWith(`${name}.`))
  const name = own.sort((a, b) => b.length - a.length)[0] ?? path.split('.')[0] ?? path
  const step = Array.isArray(value) ? Number(name) : name
  return [step, ...pathIn(members[name], path.slice(name.length + 1))]
}

/** The JSON Schema of a rule without the names of the OpenAPI document. Where a rule contains itself, the schema takes any value. */
function withoutComponents(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutComponents)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => name !== COMPONENT)
      .map(([name, part]) => [name, withoutComponents(part)]),
  )
}

export const canvasBody: z.ZodType<CanvasBody> = schemaOf(rules.canvasBody)
export const canvasPublished: z.ZodType<CanvasAnswer> = schemaOf(rules.canvasPublished)
export const canvasAnswer: z.ZodType<ApiCanvas> = schemaOf(rules.canvasAnswer)
export const patchBody: z.ZodType<PatchBody> = schemaOf(rules.patchBody)
export const retryBody: z.ZodType<RetryTaskBody> = schemaOf(rules.retryBody)
export const deadLettersQuery: z.ZodType<DeadLettersQuery> = schemaOf(rules.deadLettersQuery)
export const deadLettersPage: z.ZodType<Page<ApiDeadLetter>> = schemaOf(rules.deadLettersPage)
export const replayBody: z.ZodType<ReplayBody> = schemaOf(rules.replayBody)
export const replayAnswer: z.ZodType<ReplayAnswer> = schemaOf(rules.replayAnswer)
export const failuresQuery: z.ZodType<FailuresQuery> = schemaOf(rules.failuresQuery)
export const failuresPage: z.ZodType<Page<ApiFailureGroup>> = schemaOf(rules.failuresPage)
export const healthAnswer: z.ZodType<HealthAnswer> = schemaOf(rules.healthAnswer)
export const countsQuery: z.ZodType<CountsQuery> = schemaOf(rules.countsQuery)
export const allCountsQuery: z.ZodType<AllCountsQuery> = schemaOf(rules.allCountsQuery)
export const allCountsPage: z.ZodType<Page<TypeCounts>> = schemaOf(rules.allCountsPage)
export const activityQuery: z.ZodType<ActivityQuery> = schemaOf(rules.activityQuery)
export const activityPage: z.ZodType<ActivityPage> = schemaOf(rules.activityPage)
export const limitUsageQuery: z.ZodType<LimitUsageQuery> = schemaOf(rules.limitUsageQuery)
export const limitUsage: z.ZodType<LimitUsage> = schemaOf(rules.limitUsage)
export const whyQuery: z.ZodType<WhyQuery> = schemaOf(rules.whyQuery)
export const whyAnswer: z.ZodType<WhyAnswer> = schemaOf(rules.whyAnswer)
export const eventsQuery: z.ZodType<unknown> = schemaOf(rules.eventsQuery)
export const optionsInForce: z.ZodType<ApiTask['options']> = schemaOf(rules.optionsInForce)
export const taskError: z.ZodType<NonNullable<ApiTask['error']>> = schemaOf(rules.taskError)
export const problemAnswer: z.ZodType<Problem> = schemaOf(rules.problemAnswer)
export const publishBody: z.ZodType<PublishBody> = schemaOf(rules.publishBody)
export const publishAnswer: z.ZodType<PublishAnswer> = schemaOf(rules.publishAnswer)
export const publishManyAnswer: z.ZodType<{ readonly results: readonly PublishResult[] }> = schemaOf(
  rules.publishManyAnswer,
)
export const claimsBody: z.ZodType<ClaimsBody> = schemaOf(rules.claimsBody)
export const claimsAnswer: z.ZodType<ClaimsAnswer> = schemaOf(rules.claimsAnswer)
export const heartbeatBody: z.ZodType<HeartbeatBody> = schemaOf(rules.heartbeatBody)
export const succeedBody: z.ZodType<SucceedBody> = schemaOf(rules.succeedBody)
export const failBody: z.ZodType<FailBody> = schemaOf(rules.failBody)
export const releaseBody: z.ZodType<ReleaseBody> = schemaOf(rules.releaseBody)
export const heartbeatAnswer: z.ZodType<HeartbeatAnswer> = schemaOf(rules.heartbeatAnswer)
export const heartbeatsAnswer: z.ZodType<{ readonly results: readonly RunResult[] }> = schemaOf(
  rules.heartbeatsAnswer,
)
export const finishesAnswer: z.ZodType<{ readonly results: readonly RunResult[] }> = schemaOf(
  rules.finishesAnswer,
)
export const scheduleBody: z.ZodType<ScheduleBody> = schemaOf(rules.scheduleBody)
export const scheduleAnswer: z.ZodType<ApiSchedule> = schemaOf(rules.scheduleAnswer)
export const schedulePage: z.ZodType<Page<ApiSchedule>> = schemaOf(rules.schedulePage)
export const triggerAnswer: z.ZodType<TriggerAnswer> = schemaOf(rules.triggerAnswer)
export const listQuery: z.ZodType<ListQuery> = schemaOf(rules.listQuery)
export const previousQuery: z.ZodType<PageQuery> = schemaOf(rules.previousQuery)
export const task: z.ZodType<ApiTask> = schemaOf(rules.task)
export const taskAnswer: z.ZodType<TaskAnswer> = schemaOf(rules.taskAnswer)
export const taskPage: z.ZodType<Page<ApiTask>> = schemaOf(rules.taskPage)
export const previousPage: z.ZodType<Page<Json>> = schemaOf(rules.previousPage)
export const typeBody: z.ZodType<TypeBody> = schemaOf(rules.typeBody)
export const typeAnswer: z.ZodType<ApiType> = schemaOf(rules.typeAnswer)
export const typePage: z.ZodType<Page<ApiType>> = schemaOf(rules.typePage)
export const pausedAnswer: z.ZodType<PausedType> = schemaOf(rules.pausedAnswer)
export const countsAnswer: z.ZodType<Counts> = schemaOf(rules.countsAnswer)
export const purgeBody: z.ZodType<PurgeBody> = schemaOf(rules.purgeBody)
export const purgeAnswer: z.ZodType<PurgeAnswer> = schemaOf(rules.purgeAnswer)
export const workerPage: z.ZodType<Page<ApiWorker>> = schemaOf(rules.workerPage)
export const publishManyBody: z.ZodType<{ readonly tasks: readonly PublishBody[] }> = schemaOf(
  rules.documentedPublishManyBody,
)
export const heartbeatManyBody: z.ZodType<{ readonly runs: ReadonlyArray<RunName & HeartbeatBody> }> =
  schemaOf(rules.documentedHeartbeatsBody)
export const finishManyBody: z.ZodType<{ readonly runs: readonly FinishMember[] }> = schemaOf(
  rules.documentedFinishBody,
)
