import * as z from 'zod'
import { BATCH_TASKS_MAX, CALLBACKS_MAX, KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { isTraceparent, text } from '../core/rules/scalars.ts'
import { fromRule } from './from-rule.ts'
import { givenOptions, priority } from './options.ts'
import { problemAnswer } from './problems.ts'
import { duration, json, key, name, optional, strict, tags, time, typeName, userId } from './scalars.ts'
import { clean, stage, task } from './tasks.ts'
import type { TypeOf } from './type-of.ts'

/** Publishing: the body as it is sent, one or many, and what is answered. */

const publishFields = {
  type: typeName,
  key: optional(key),
  input: optional(json),
  userId: optional(userId),
  tags: optional(tags),
  /** This or `delayMs`; neither means now. */
  dueAt: optional(time).describe('This or `delayMs`; neither means now.'),
  delayMs: optional(duration()),
  priority: optional(priority),
  ...givenOptions,
  traceparent: optional(fromRule(text('a W3C traceparent', isTraceparent))),
  /** The stage it begins in. */
  stage: optional(stage).describe('The stage it begins in.'),
  /** Takes nothing that the task before it hands on. */
  immutable: optional(z.boolean()).describe('Takes nothing that the task before it hands on.'),
  /** Whose task it is: those of different keys take turns. */
  fairnessKey: optional(name(KEY_CHARACTERS_MAX)).describe(
    'Whose task it is: those of different keys take turns.',
  ),
}

/**
 * A task that another one, a canvas or a schedule brings about: it says nothing of how it meets earlier ones of its key. A
 * callback's key is made up from the task whose end it follows, unless it has one.
 */
export type DerivedBody = TypeOf<z.ZodObject<typeof publishFields>> & {
  /** Published once when the task has succeeded; they inherit its user and trace. */
  readonly onSuccess?: readonly DerivedBody[]
  /** Published once when the task has failed; they inherit its user and trace. */
  readonly onError?: readonly DerivedBody[]
}

const callbackBody: z.ZodType<DerivedBody> = z.lazy(() =>
  strict({ ...publishFields, onSuccess: optional(callbacks), onError: optional(callbacks) }).meta({
    id: 'Callback',
  }),
)

const callbacks = z.array(callbackBody).max(CALLBACKS_MAX)

export const publishBody = strict({
  ...publishFields,
  /** Published once when the task has succeeded; they inherit its user and trace. */
  onSuccess: optional(callbacks).describe(
    'Published once when the task has succeeded; they inherit its user and trace.',
  ),
  /** Published once when the task has failed; they inherit its user and trace. */
  onError: optional(callbacks).describe(
    'Published once when the task has failed; they inherit its user and trace.',
  ),
  ifExists: optional(z.enum(['keep', 'update', 'reject', 'restart'])),
  /** Which runs a restart forgets; all of them by default. */
  clean: optional(clean).describe('Which runs a restart forgets; all of them by default.'),
  /** Runs `ms` after the last publish of its key, at the latest `maxWaitMs` after the first; the last one counts. */
  debounce: optional(strict({ ms: duration(1), maxWaitMs: optional(duration(1)) })).describe(
    'Runs `ms` after the last publish of its key, at the latest `maxWaitMs` after the first; the last one counts.',
  ),
  /** Of those published with one key at most one in any `perMs` begins; the first one counts. */
  throttle: optional(strict({ perMs: duration(1) })).describe(
    'Of those published with one key at most one in any `perMs` begins; the first one counts.',
  ),
}).meta({ id: 'Publish' })

export type PublishBody = TypeOf<typeof publishBody>

/** Members are checked one by one, so that a bad one harms no other. */
export const publishManyBody = strict({ tasks: z.array(z.unknown()).min(1).max(BATCH_TASKS_MAX) })

export const publishAnswer = z.object({ id: z.string(), created: z.boolean(), task })

export type PublishAnswer = TypeOf<typeof publishAnswer>

const publishResult = z.object({
  status: z.int(),
  id: optional(z.string()),
  created: optional(z.boolean()),
  task: optional(task),
  problem: optional(problemAnswer),
})

export type PublishResult = TypeOf<typeof publishResult>

export const publishManyAnswer = z.object({ results: z.array(publishResult) })
