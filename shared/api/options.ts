import type { Options } from '../core/options.ts'
import { listOf, open, optional, optionals } from '../core/rules/compound.ts'
import { optionRules, priorityRule } from '../core/rules/options.ts'
import type { Rule } from '../core/rules/rules.ts'
import { flag, integer, number, oneOf, text } from '../core/rules/scalars.ts'
import { BACKOFFS } from '../core/states.ts'
import { count } from './scalars.ts'

/** The options that can be set per task, or as defaults of its type: as requests give them, and as answers show them. */

export const givenOptions = optionals(optionRules)
export const priority = priorityRule

const retryFields = {
  maxRetries: count,
  backoff: oneOf(...BACKOFFS),
  delayMs: count,
  maxDelayMs: count,
  delaysMs: optional(listOf(count)),
  jitter: number(),
  scope: oneOf('task', 'worker'),
  localRetries: count,
}

const optionFields = {
  concurrency: count,
  workerIds: listOf(text()),
  minWorkerVersion: optional(text()),
  heartbeatMs: count,
  leaseMs: count,
  timeoutMs: optional(count),
  deadlineMs: optional(count),
  retentionMs: count,
  liveLog: optional(flag()),
  retry: open(retryFields),
} satisfies Record<keyof Options, Rule>

/** The options in force, defaults included. */
export const optionsInForce = open(optionFields, 'Options')

/** The defaults of a type as they were given. Each member may be missing. */
export const shownDefaults = open({
  /** The priority; higher comes first. */
  priority: optional(integer()),
  ...optionals(optionFields),
  retry: optional(open(optionals(retryFields))),
})
