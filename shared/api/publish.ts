import * as z from 'zod'
import { BATCH_TASKS_MAX, CALLBACKS_MAX, KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import { isTraceparent, text } from '../core/rules/scalars.ts'
import { fromRule } from './from-rule.ts'
import { givenOptions, priority } from './options.ts'
import { problemAnswer } from './problems.ts'
import { duration, json, key, name, optional, strict, tags, time, typeName, userId } from './scalars.ts'
import { clean, stage, task } from './tasks.ts'
import type { TypeOf } from './type-of.ts'

/** Publishing one task or many: the bodies and the answers. */

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
  /** Whether the task ignores the value that the task before it hands on. */
  immutable: optional(z.boolean()).describe(
    'Whether the task ignores the value that the task before it hands on.',
  ),
  /** The tenant of the task. Tasks of different tenants take turns. */
  fairnessKey: optional(name(KEY_CHARACTERS_MAX)).describe(
    'The tenant of the task. Tasks of different tenants take turns.',
  ),
}

/**
 * The body of a task that another task, a canvas or a schedule publishes. It has no `ifExists` and nothing else about earlier tasks
 * of its key. A callback without a key gets one derived from the task that owes it.
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
  /** At most one task with this key begins in any `perMs`; the first publish counts. */
  throttle: optional(strict({ perMs: duration(1) })).describe(
    'At most one task with this key begins in any `perMs`; the first publish counts.',
  ),
}).meta({ id: 'Publish' })

export type PublishBody = TypeOf<typeof publishBody>

/** The route checks members one by one, so that an illegal member harms no other. */
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
