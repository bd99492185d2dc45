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
  /** When the task is due. `delayMs` may be given in its place; without both the task is due now. */
  dueAt: optional(time).describe(
    'When the task is due. `delayMs` may be given in its place; without both the task is due now.',
  ),
  delayMs: optional(duration()),
  priority: optional(priority),
  ...givenOptions,
  traceparent: optional(fromRule(text('a W3C traceparent', isTraceparent))),
  /** The stage in which the task begins. */
  stage: optional(stage).describe('The stage in which the task begins.'),
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
 * The body of a task that another task, a canvas or a schedule publishes. It has no field about an earlier
 * task of its key, such as `ifExists`. A callback without a key gets one derived from the task that owes it.
 */
export interface DerivedBody extends TypeOf<z.ZodObject<typeof publishFields>> {
  /** Tasks that are published once when this one has succeeded. They inherit its user and trace. */
  readonly onSuccess?: readonly DerivedBody[]
  /** Tasks that are published once when this one has failed. They inherit its user and trace. */
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
  /** Tasks that are published once when this one has succeeded. They inherit its user and trace. */
  onSuccess: optional(callbacks).describe(
    'Tasks that are published once when this one has succeeded. They inherit its user and trace.',
  ),
  /** Tasks that are published once when this one has failed. They inherit its user and trace. */
  onError: optional(callbacks).describe(
    'Tasks that are published once when this one has failed. They inherit its user and trace.',
  ),
  ifExists: optional(z.enum(['keep', 'update', 'reject', 'restart'])),
  /** The ended runs that a restart forgets; all of them when left out. */
  clean: optional(clean).describe('The ended runs that a restart forgets; all of them when left out.'),
  /** The task is due `ms` after the last publish of its key, and at most `maxWaitMs` after the first. The last publish counts. */
  debounce: optional(strict({ ms: duration(1), maxWaitMs: optional(duration(1)) })).describe(
    'The task is due `ms` after the last publish of its key, and at most `maxWaitMs` after the first. The last publish counts.',
  ),
  /** At most one task with this key begins in any `perMs`. The first publish counts. */
  throttle: optional(strict({ perMs: duration(1) })).describe(
    'At most one task with this key begins in any `perMs`. The first publish counts.',
  ),
}).meta({ id: 'Publish' })

export interface PublishBody extends TypeOf<typeof publishBody> {}

/** The route checks members one by one, so an illegal member does not refuse the others. */
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
