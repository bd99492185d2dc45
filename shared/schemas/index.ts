/**
 * The public entry `baton-tasks/http`: the HTTP contract as schemas of zod, and the types of its requests and answers. The schemas are made
 * of the rules by which the API itself checks requests.
 */

import * as z from 'zod'
import * as rules from '../api/index.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'

export type * from '../api/index.ts'
export { ENDPOINTS, pathOf, targetOf } from '../api/index.ts'

/** A schema that refuses what the rule refuses, with the same words. */
function schemaOf<Of extends Rule>(rule: Of): z.ZodType<ValueOf<Of>> {
  const schema = z.unknown().superRefine((value, context) => {
    for (const { path, message } of rule.problems(value, '')) {
      context.addIssue({ code: 'custom', message, path: path === '' ? [] : path.split('.') })
    }
  })
  return schema as unknown as z.ZodType<ValueOf<Of>>
}

export const canvasBody = schemaOf(rules.canvasBody)
export const canvasPublished = schemaOf(rules.canvasPublished)
export const canvasAnswer = schemaOf(rules.canvasAnswer)
export const patchBody = schemaOf(rules.patchBody)
export const retryBody = schemaOf(rules.retryBody)
export const deadLettersQuery = schemaOf(rules.deadLettersQuery)
export const deadLettersPage = schemaOf(rules.deadLettersPage)
export const replayBody = schemaOf(rules.replayBody)
export const replayAnswer = schemaOf(rules.replayAnswer)
export const failuresQuery = schemaOf(rules.failuresQuery)
export const failuresPage = schemaOf(rules.failuresPage)
export const healthAnswer = schemaOf(rules.healthAnswer)
export const countsQuery = schemaOf(rules.countsQuery)
export const allCountsQuery = schemaOf(rules.allCountsQuery)
export const allCountsPage = schemaOf(rules.allCountsPage)
export const activityQuery = schemaOf(rules.activityQuery)
export const activityPage = schemaOf(rules.activityPage)
export const limitUsageQuery = schemaOf(rules.limitUsageQuery)
export const limitUsage = schemaOf(rules.limitUsage)
export const whyQuery = schemaOf(rules.whyQuery)
export const whyAnswer = schemaOf(rules.whyAnswer)
export const eventsQuery = schemaOf(rules.eventsQuery)
export const optionsInForce = schemaOf(rules.optionsInForce)
export const taskError = schemaOf(rules.taskError)
export const problemAnswer = schemaOf(rules.problemAnswer)
export const publishBody = schemaOf(rules.publishBody)
export const publishAnswer = schemaOf(rules.publishAnswer)
export const publishManyAnswer = schemaOf(rules.publishManyAnswer)
export const claimsBody = schemaOf(rules.claimsBody)
export const claimsAnswer = schemaOf(rules.claimsAnswer)
export const heartbeatBody = schemaOf(rules.heartbeatBody)
export const succeedBody = schemaOf(rules.succeedBody)
export const failBody = schemaOf(rules.failBody)
export const releaseBody = schemaOf(rules.releaseBody)
export const heartbeatAnswer = schemaOf(rules.heartbeatAnswer)
export const heartbeatsAnswer = schemaOf(rules.heartbeatsAnswer)
export const finishesAnswer = schemaOf(rules.finishesAnswer)
export const scheduleBody = schemaOf(rules.scheduleBody)
export const scheduleAnswer = schemaOf(rules.scheduleAnswer)
export const schedulePage = schemaOf(rules.schedulePage)
export const triggerAnswer = schemaOf(rules.triggerAnswer)
export const listQuery = schemaOf(rules.listQuery)
export const previousQuery = schemaOf(rules.previousQuery)
export const task = schemaOf(rules.task)
export const taskAnswer = schemaOf(rules.taskAnswer)
export const taskPage = schemaOf(rules.taskPage)
export const previousPage = schemaOf(rules.previousPage)
export const typeBody = schemaOf(rules.typeBody)
export const typeAnswer = schemaOf(rules.typeAnswer)
export const typePage = schemaOf(rules.typePage)
export const pausedAnswer = schemaOf(rules.pausedAnswer)
export const countsAnswer = schemaOf(rules.countsAnswer)
export const purgeBody = schemaOf(rules.purgeBody)
export const purgeAnswer = schemaOf(rules.purgeAnswer)
export const workerPage = schemaOf(rules.workerPage)
export const publishManyBody = schemaOf(rules.documentedPublishManyBody)
export const heartbeatManyBody = schemaOf(rules.documentedHeartbeatsBody)
export const finishManyBody = schemaOf(rules.documentedFinishBody)
