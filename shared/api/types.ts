import * as z from 'zod'
import { givenTypeRule } from '../core/rules/type-configuration.ts'
import { ORDERINGS, STATUSES, TYPE_KINDS } from '../core/states.ts'
import { fromRule } from './from-rule.ts'
import { shownDefaults } from './options.ts'
import { count, json, operations, optional, pageOf, revision, shownTime, strict, time } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Task types: their configuration as requests give it and as answers show it, their counts, and the purge of their tasks. */

export const typeBody = fromRule(givenTypeRule).meta({ id: 'TypeConfiguration', ...givenTypeRule.schema })

export type TypeBody = TypeOf<typeof typeBody>

const stepAction = z.object({
  type: z.string(),
  input: optional(json),
  timeoutMs: optional(count),
  deadlineMs: optional(count),
  retry: shownDefaults.shape.retry,
})

export const typeAnswer = z
  .object({
    type: z.string(),
    kind: z.enum(TYPE_KINDS),
    defaults: shownDefaults,
    ordering: z.enum(ORDERINGS),
    /** With `key` (an input field, `userId` or `fairnessKey`), each value of that field has this limit of its own. */
    limits: optional(
      z.object({
        /** At most `limit` starts in any `perMs`. */
        rate: optional(z.object({ limit: count, perMs: count, key: optional(z.string()) })).describe(
          'At most `limit` starts in any `perMs`.',
        ),
        /** At most `max` runs at a time. */
        concurrency: optional(z.object({ max: count, key: optional(z.string()) })).describe(
          'At most `max` runs at a time.',
        ),
      }),
    ).describe(
      'With `key` (an input field, `userId` or `fairnessKey`), each value of that field has this limit of its own.',
    ),
    shards: count,
    /** Whether changes of its tasks are published as events. */
    events: z.boolean().describe('Whether changes of its tasks are published as events.'),
    webhook: optional(
      z.object({
        url: optional(z.string()),
        timeoutMs: optional(count),
        secretName: optional(z.string()),
        allowPrivate: optional(z.boolean()),
      }),
    ),
    /** The steps of a type of kind `flow`. */
    steps: optional(
      z.array(z.object({ name: z.string(), do: stepAction, undo: optional(stepAction) })),
    ).describe('The steps of a type of kind `flow`.'),
    onCancel: optional(z.enum(['undo', 'leave'])),
    /** The JSON Schema of the input, from which forms are made. */
    inputSchema: optional(z.record(z.string(), json)).describe(
      'The JSON Schema of the input, from which forms are made.',
    ),
    paused: z.boolean(),
    /** The time since which a deployed handler serves the type. */
    handlerSince: optional(shownTime).describe('The time since which a deployed handler serves the type.'),
    createdAt: shownTime,
    updatedAt: shownTime,
    revision,
    operations: optional(operations),
    /** Settings that are slow or expensive at scale; left out when there are none. */
    warnings: optional(z.array(z.string())).describe(
      'Settings that are slow or expensive at scale; left out when there are none.',
    ),
  })
  .meta({ id: 'Type' })

export type ApiType = TypeOf<typeof typeAnswer>

export const typePage = pageOf(typeAnswer)

export const pausedAnswer = z.object({ type: z.string(), paused: z.boolean(), revision })

export type PausedType = TypeOf<typeof pausedAnswer>

export const countsAnswer = z.object(
  Object.fromEntries(STATUSES.map(status => [status, count])) as Record<
    (typeof STATUSES)[number],
    typeof count
  >,
)

export type Counts = TypeOf<typeof countsAnswer>

export const purgeBody = strict({
  status: z.array(z.enum(STATUSES)).min(1),
  /** The purge removes only tasks from before this time; the time of the request when left out. */
  before: optional(time).describe(
    'The purge removes only tasks from before this time; the time of the request when left out.',
  ),
}).meta({ id: 'Purge' })

/**
 * The tasks of a type that a purge removes: ended tasks in these statuses that ended before `before`, and open ones that were
 * published before it. A time in the future counts as the time of the request: the purge never touches a task that is published
 * after the request.
 */
export type PurgeBody = TypeOf<typeof purgeBody>

export const purgeAnswer = z.object({
  type: z.string(),
  status: z.array(z.enum(STATUSES)),
  before: shownTime,
})

/** Says which tasks the purge removes. */
export type PurgeAnswer = TypeOf<typeof purgeAnswer>
