import * as z from 'zod'
import type { Options } from '../core/options/options.ts'
import { optionRules, priorityRule } from '../core/rules/options.ts'
import { BACKOFFS } from '../core/states.ts'
import { count, fromRule, optional, optionalFields } from './scalars.ts'

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

const optionFields = {
  concurrency: count,
  workerIds: z.array(z.string()),
  minWorkerVersion: optional(z.string()),
  heartbeatMs: count,
  leaseMs: count,
  timeoutMs: optional(count),
  deadlineMs: optional(count),
  retentionMs: count,
  retry: z.object(retryFields),
} satisfies Record<keyof Options, z.ZodType>

/** The options in force, defaults included. */
export const optionsInForce = z.object(optionFields).meta({ id: 'Options' })

/** The defaults of a type as they were given. Each member may be missing. */
export const shownDefaults = z.object({
  /** The priority; higher comes first. */
  priority: optional(z.int()),
  ...allOptional(optionFields),
  retry: optional(z.object(allOptional(retryFields))),
})

type AllOptional<Fields extends z.ZodRawShape> = {
  [Name in keyof Fields]: Fields[Name] extends z.ZodExactOptional
    ? Fields[Name]
    : z.ZodExactOptional<Fields[Name]>
}

function allOptional<Fields extends z.ZodRawShape>(fields: Fields): AllOptional<Fields> {
  const isOptional = (field: z.core.$ZodType) => field instanceof z.ZodExactOptional
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, isOptional(field) ? field : optional(field)]),
  ) as AllOptional<Fields>
}
