import * as z from 'zod'
import { givenTypeRule } from '../core/rules/type-configuration.ts'
import { ORDERINGS, STATUSES, TYPE_KINDS } from '../core/states.ts'
import { shownDefaults } from './options.ts'
import {
  count,
  fromRule,
  json,
  operations,
  optional,
  pageOf,
  revision,
  shownTime,
  strict,
  time,
} from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Task types: their configuration as requests give it and as answers show it, their counts, and the purge of their tasks. */

/** The configuration of a task type. What is left out has its default. */
export const typeBody = fromRule(givenTypeRule).meta({ id: 'TypeConfiguration', ...givenTypeRule.schema })

export type TypeBody = TypeOf<typeof typeBody>

const stepAction = z.object({
  /** The type whose workers do it. */
  type: z.string(),
  /** The input in place of the flow's parameters. */
  input: optional(json),
  /** Time limit of one run, in milliseconds. */
  timeoutMs: optional(count),
  /** Time limit from the first claim, in milliseconds, retries included. */
  deadlineMs: optional(count),
  /** How failures are retried, where it differs from the type. */
  retry: shownDefaults.shape.retry,
})

/** A task type and its configuration. */
export const typeAnswer = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** What serves the tasks of the type. */
    kind: z.enum(TYPE_KINDS),
    /** The options of its tasks, as they were given. */
    defaults: shownDefaults,
    /** The order in which its tasks run: `arrival` by the due time, `priority` the highest first, `aged` by the due time minus `priority` seconds. */
    ordering: z.enum(ORDERINGS),
    /** With `key` (an input field, `userId` or `fairnessKey`), each value of that field has this limit of its own. */
    limits: optional(
      z.object({
        /** At most `limit` starts in any `perMs`. */
        rate: optional(
          z.object({
            /** How many runs may start in any span of `perMs`. */
            limit: count,
            /** The span, in milliseconds. */
            perMs: count,
            /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. */
            key: optional(z.string()),
          }),
        ),
        /** At most `max` runs at a time. */
        concurrency: optional(
          z.object({
            /** How many runs may be under way at a time. */
            max: count,
            /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. */
            key: optional(z.string()),
          }),
        ),
      }),
    ),
    /** The partitions of its indexes. */
    shards: count,
    /** Whether changes of its tasks are published as events. */
    events: z.boolean(),
    /** How a type of kind `webhook` calls its receiver. */
    webhook: optional(
      z.object({
        /** The URL of the receiver. */
        url: optional(z.string()),
        /** How long a call may take, in milliseconds. */
        timeoutMs: optional(count),
        /** The name of the secret that signs the calls. */
        secretName: optional(z.string()),
        /** Whether private and loopback addresses may be called. */
        allowPrivate: optional(z.boolean()),
      }),
    ),
    /** The steps of a type of kind `flow`. */
    steps: optional(
      z.array(
        z.object({
          /** The name of the step. */
          name: z.string(),
          /** What does the step. */
          do: stepAction,
          /** What undoes the step. */
          undo: optional(stepAction),
        }),
      ),
    ),
    /** Whether a cancelled flow undoes the steps that were done. */
    onCancel: optional(z.enum(['undo', 'leave'])),
    /** The JSON Schema of the input, from which forms are made: at most 32 KB. */
    inputSchema: optional(z.record(z.string(), json)),
    /** Whether the type is paused. */
    paused: z.boolean(),
    /** The time since which a deployed handler serves the type. */
    handlerSince: optional(shownTime),
    /** When the type was registered. */
    createdAt: shownTime,
    /** When the type was last changed. */
    updatedAt: shownTime,
    /** How often people have changed the type. */
    revision,
    /** The last ten changes that callers made over the HTTP API, oldest first. */
    operations: optional(operations),
  })
  .meta({ id: 'Type' })

export type ApiType = TypeOf<typeof typeAnswer>

/** One page of types. */
export const typePage = pageOf(typeAnswer).meta({ id: 'TypePage' })

/** Whether a type is paused. */
export const pausedAnswer = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** Whether the type is paused. */
    paused: z.boolean(),
    /** How often people have changed the type. */
    revision,
  })
  .meta({ id: 'PausedType' })

export type PausedType = TypeOf<typeof pausedAnswer>

/** How many tasks of a type have each status. */
export const countsAnswer = z
  .object({
    /** Tasks that are not due yet, or wait for a retry. */
    delayed: count,
    /** Tasks that are due and wait for a worker, a limit or the end of a pause. */
    ready: count,
    /** Tasks that a worker runs. */
    running: count,
    /** Flows that undo their steps. */
    compensating: count,
    /** Tasks that have ended with success, and are still kept. */
    succeeded: count,
    /** Tasks that have ended with a failure, and are still kept. */
    failed: count,
    /** Tasks that were cancelled, and are still kept. */
    cancelled: count,
  } satisfies Record<(typeof STATUSES)[number], typeof count>)
  .meta({ id: 'Counts' })

export type Counts = TypeOf<typeof countsAnswer>

export const purgeBody = strict({
  /** The statuses of the tasks that are removed. */
  status: z.array(z.enum(STATUSES)).min(1),
  /** Only tasks from before this time are removed. @default the time of the request */
  before: optional(time),
}).meta({ id: 'Purge' })

/**
 * The tasks of a type that a purge removes: ended tasks in these statuses that ended before `before`, and open ones that were
 * published before it. A time in the future counts as the time of the request: the purge never touches a task that is published
 * after the request.
 */
export type PurgeBody = TypeOf<typeof purgeBody>

export const purgeAnswer = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** The statuses of the tasks that are removed. */
    status: z.array(z.enum(STATUSES)),
    /** Only tasks from before this time are removed. */
    before: shownTime,
  })
  .meta({ id: 'PurgeStarted' })

/** Says which tasks the purge removes. */
export type PurgeAnswer = TypeOf<typeof purgeAnswer>
