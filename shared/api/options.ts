import * as z from 'zod'
import { optionRules, priorityRule } from '../core/rules/options.ts'
import { BACKOFFS } from '../core/states.ts'
import { fromRule, optionalFields } from './from-rule.ts'
import { count, optional } from './scalars.ts'

/** The options that can be set per task, or as defaults of its type: as requests give them, and as answers show them. */

export const givenOptions = optionalFields(optionRules)
export const priority = fromRule(priorityRule)

const retryFields = {
  maxRetries: count,
  backoff: z.enum(BACKOFFS),
  delayMs: count,
  maxDelayMs: count,
  delaysMs: optional(z.array(count)),
  jitter: z.number(),
  scope: z.enum(['task', 'worker']),
  localRetries: count,
}

export const optionsInForce = z
  .object({
    concurrency: count,
    workerIds: z.array(z.string()),
    minWorkerVersion: optional(z.string()),
    heartbeatMs: count,
    leaseMs: count,
    timeoutMs: optional(count),
    deadlineMs: optional(count),
    retentionMs: count,
    retry: z.object(retryFields),
  })
  .meta({ id: 'Options', description: 'Options in force, defaults included' })

/** The defaults of a type as they were given. Each member may be missing. */
export const shownDefaults = z.object({
  priority: optional(z.int()),
  concurrency: optional(count),
  workerIds: optional(z.array(z.string())),
  minWorkerVersion: optional(z.string()),
  heartbeatMs: optional(count),
  leaseMs: optional(count),
  timeoutMs: optional(count),
  deadlineMs: optional(count),
  retentionMs: optional(count),
  retry: optional(
    z.object({
      maxRetries: optional(count),
      backoff: optional(retryFields.backoff),
      delayMs: optional(count),
      maxDelayMs: optional(count),
      delaysMs: retryFields.delaysMs,
      jitter: optional(z.number()),
      scope: optional(retryFields.scope),
      localRetries: optional(count),
    }),
  ),
})
