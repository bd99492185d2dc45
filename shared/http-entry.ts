/**
 * The public entry `baton-tasks/http`: the HTTP contract as schemas of zod, and the types of its requests and answers. The schemas are made
 * of the rules by which the API itself checks requests.
 */

import * as z from 'zod'
import * as rules from './api/index.ts'
import type { Page, PageQuery } from './api/scalars.ts'
import { COMPONENT, type Rule } from './core/rules/rules.ts'
import type { Json } from './core/values/values.ts'

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

type Results<Result> = { readonly results: readonly Result[] }

export const canvasBody: z.ZodType<rules.CanvasBody> = schemaOf(rules.canvasBody)
export const canvasPublished: z.ZodType<rules.CanvasAnswer> = schemaOf(rules.canvasPublished)
export const canvasAnswer: z.ZodType<rules.ApiCanvas> = schemaOf(rules.canvasAnswer)
export const patchBody: z.ZodType<rules.PatchBody> = schemaOf(rules.patchBody)
export const retryBody: z.ZodType<rules.RetryTaskBody> = schemaOf(rules.retryBody)
export const deadLettersQuery: z.ZodType<rules.DeadLettersQuery> = schemaOf(rules.deadLettersQuery)
export const deadLettersPage: z.ZodType<Page<rules.ApiDeadLetter>> = schemaOf(rules.deadLettersPage)
export const replayBody: z.ZodType<rules.ReplayBody> = schemaOf(rules.replayBody)
export const replayAnswer: z.ZodType<rules.ReplayAnswer> = schemaOf(rules.replayAnswer)
export const failuresQuery: z.ZodType<rules.FailuresQuery> = schemaOf(rules.failuresQuery)
export const failuresPage: z.ZodType<Page<rules.ApiFailureGroup>> = schemaOf(rules.failuresPage)
export const healthAnswer: z.ZodType<rules.HealthAnswer> = schemaOf(rules.healthAnswer)
export const countsQuery: z.ZodType<rules.CountsQuery> = schemaOf(rules.countsQuery)
export const allCountsQuery: z.ZodType<rules.AllCountsQuery> = schemaOf(rules.allCountsQuery)
export const allCountsPage: z.ZodType<Page<rules.TypeCounts>> = schemaOf(rules.allCountsPage)
export const activityQuery: z.ZodType<rules.ActivityQuery> = schemaOf(rules.activityQuery)
export const activityPage: z.ZodType<rules.ActivityPage> = schemaOf(rules.activityPage)
export const limitUsageQuery: z.ZodType<rules.LimitUsageQuery> = schemaOf(rules.limitUsageQuery)
export const limitUsage: z.ZodType<rules.LimitUsage> = schemaOf(rules.limitUsage)
export const whyQuery: z.ZodType<rules.WhyQuery> = schemaOf(rules.whyQuery)
export const whyAnswer: z.ZodType<rules.WhyAnswer> = schemaOf(rules.whyAnswer)
export const eventsQuery: z.ZodType<unknown> = schemaOf(rules.eventsQuery)
export const optionsInForce: z.ZodType<rules.ApiTask['options']> = schemaOf(rules.optionsInForce)
export const taskError: z.ZodType<NonNullable<rules.ApiTask['error']>> = schemaOf(rules.taskError)
export const problemAnswer: z.ZodType<rules.Problem> = schemaOf(rules.problemAnswer)
export const publishBody: z.ZodType<rules.PublishBody> = schemaOf(rules.publishBody)
export const publishAnswer: z.ZodType<rules.PublishAnswer> = schemaOf(rules.publishAnswer)
export const publishManyAnswer: z.ZodType<Results<rules.PublishResult>> = schemaOf(rules.publishManyAnswer)
export const claimsBody: z.ZodType<rules.ClaimsBody> = schemaOf(rules.claimsBody)
export const claimsAnswer: z.ZodType<rules.ClaimsAnswer> = schemaOf(rules.claimsAnswer)
export const heartbeatBody: z.ZodType<rules.HeartbeatBody> = schemaOf(rules.heartbeatBody)
export const succeedBody: z.ZodType<rules.SucceedBody> = schemaOf(rules.succeedBody)
export const failBody: z.ZodType<rules.FailBody> = schemaOf(rules.failBody)
export const releaseBody: z.ZodType<rules.ReleaseBody> = schemaOf(rules.releaseBody)
export const heartbeatAnswer: z.ZodType<rules.HeartbeatAnswer> = schemaOf(rules.heartbeatAnswer)
export const heartbeatsAnswer: z.ZodType<Results<rules.RunResult>> = schemaOf(rules.heartbeatsAnswer)
export const finishesAnswer: z.ZodType<Results<rules.RunResult>> = schemaOf(rules.finishesAnswer)
export const scheduleBody: z.ZodType<rules.ScheduleBody> = schemaOf(rules.scheduleBody)
export const scheduleAnswer: z.ZodType<rules.ApiSchedule> = schemaOf(rules.scheduleAnswer)
export const schedulePage: z.ZodType<Page<rules.ApiSchedule>> = schemaOf(rules.schedulePage)
export const triggerAnswer: z.ZodType<rules.TriggerAnswer> = schemaOf(rules.triggerAnswer)
export const listQuery: z.ZodType<rules.ListQuery> = schemaOf(rules.listQuery)
export const previousQuery: z.ZodType<PageQuery> = schemaOf(rules.previousQuery)
export const task: z.ZodType<rules.ApiTask> = schemaOf(rules.task)
export const taskAnswer: z.ZodType<rules.TaskAnswer> = schemaOf(rules.taskAnswer)
export const taskPage: z.ZodType<Page<rules.ApiTask>> = schemaOf(rules.taskPage)
export const previousPage: z.ZodType<Page<Json>> = schemaOf(rules.previousPage)
export const typeBody: z.ZodType<rules.TypeBody> = schemaOf(rules.typeBody)
export const typeAnswer: z.ZodType<rules.ApiType> = schemaOf(rules.typeAnswer)
export const typePage: z.ZodType<Page<rules.ApiType>> = schemaOf(rules.typePage)
export const pausedAnswer: z.ZodType<rules.PausedType> = schemaOf(rules.pausedAnswer)
export const countsAnswer: z.ZodType<rules.Counts> = schemaOf(rules.countsAnswer)
export const purgeBody: z.ZodType<rules.PurgeBody> = schemaOf(rules.purgeBody)
export const purgeAnswer: z.ZodType<rules.PurgeAnswer> = schemaOf(rules.purgeAnswer)
export const workerPage: z.ZodType<Page<rules.ApiWorker>> = schemaOf(rules.workerPage)
export const publishManyBody: z.ZodType<{ readonly tasks: readonly rules.PublishBody[] }> = schemaOf(
  rules.documentedPublishManyBody,
)
export const heartbeatManyBody: z.ZodType<{
  readonly runs: ReadonlyArray<rules.RunName & rules.HeartbeatBody>
}> = schemaOf(rules.documentedHeartbeatsBody)
export const finishManyBody: z.ZodType<{ readonly runs: readonly rules.FinishMember[] }> = schemaOf(
  rules.documentedFinishBody,
)
