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
  /** The name of the task type. */
  type: typeName.describe('The name of the task type.'),
  /** Idempotency key, unique within the type; a new one when left out. A second publish of it creates nothing. */
  key: optional(key).describe(
    'Idempotency key, unique within the type; a new one when left out. A second publish of it creates nothing.',
  ),
  /** The input of the task, as JSON of at most 350 KB; none when left out. */
  input: optional(json).describe('The input of the task, as JSON of at most 350 KB; none when left out.'),
  /** The user whose task it is, by which tasks are listed; that of the parent, or none, when left out. */
  userId: optional(userId).describe(
    'The user whose task it is, by which tasks are listed; that of the parent, or none, when left out.',
  ),
  /** Names and values by which people find the task: at most 50; none when left out. */
  tags: optional(tags).describe(
    'Names and values by which people find the task: at most 50; none when left out.',
  ),
  /** When the task is due. `delayMs` may be given in its place; the task is due now when both are left out. */
  dueAt: optional(time).describe(
    'When the task is due. `delayMs` may be given in its place; the task is due now when both are left out.',
  ),
  /** How long until the task is due, in milliseconds; 0 when left out. */
  delayMs: optional(duration()).describe('How long until the task is due, in milliseconds; 0 when left out.'),
  /** Higher comes first; that of the type, or 0, when left out. */
  priority: optional(priority).describe('Higher comes first; that of the type, or 0, when left out.'),
  ...givenOptions,
  /** The W3C trace context that the task continues; a new trace when left out. */
  traceparent: optional(fromRule(text('a W3C traceparent', isTraceparent))).describe(
    'The W3C trace context that the task continues; a new trace when left out.',
  ),
  /** The stage in which the task begins; its first one when left out. */
  stage: optional(stage).describe('The stage in which the task begins; its first one when left out.'),
  /** Whether the task ignores the value that the task before it hands on; false when left out. */
  immutable: optional(z.boolean()).describe(
    'Whether the task ignores the value that the task before it hands on; false when left out.',
  ),
  /** The tenant of the task; none when left out. Tasks of different tenants take turns. */
  fairnessKey: optional(name(KEY_CHARACTERS_MAX)).describe(
    'The tenant of the task; none when left out. Tasks of different tenants take turns.',
  ),
}

/**
 * The body of a task that another task, a canvas or a schedule publishes. It has no field about an earlier
 * task of its key, such as `ifExists`. A callback without a key gets one derived from the task that owes it.
 */
export interface DerivedBody extends TypeOf<z.ZodObject<typeof publishFields>> {
  /** Tasks that are published once when this one has succeeded; none when left out. They inherit its user and trace. */
  readonly onSuccess?: readonly DerivedBody[]
  /** Tasks that are published once when this one has failed; none when left out. They inherit its user and trace. */
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
  /** Tasks that are published once when this one has succeeded; none when left out. They inherit its user and trace. */
  onSuccess: optional(callbacks).describe(
    'Tasks that are published once when this one has succeeded; none when left out. They inherit its user and trace.',
  ),
  /** Tasks that are published once when this one has failed; none when left out. They inherit its user and trace. */
  onError: optional(callbacks).describe(
    'Tasks that are published once when this one has failed; none when left out. They inherit its user and trace.',
  ),
  /**
   * What happens to a task that has the key already. `keep`: nothing. `update`: an open task that does not run gets this input, due time
   * and options. `reject`: 409 while it runs, otherwise as keep. `restart`: 409 while it runs, otherwise it starts over. `keep` when left out.
   */
  ifExists: optional(z.enum(['keep', 'update', 'reject', 'restart'])).describe(
    'What happens to a task that has the key already. `keep`: nothing. `update`: an open task that does not run gets this input, due time and options. `reject`: 409 while it runs, otherwise as keep. `restart`: 409 while it runs, otherwise it starts over. `keep` when left out.',
  ),
  /** The ended runs that a restart forgets; all of them when left out. */
  clean: optional(clean).describe('The ended runs that a restart forgets; all of them when left out.'),
  /**
   * The task is due `ms` milliseconds after the last publish of its key, and at most `maxWaitMs` milliseconds after the first. The last
   * publish counts; each counts when left out.
   */
  debounce: optional(strict({ ms: duration(1), maxWaitMs: optional(duration(1)) })).describe(
    'The task is due `ms` milliseconds after the last publish of its key, and at most `maxWaitMs` milliseconds after the first. The last publish counts; each counts when left out.',
  ),
  /** At most one task with this key begins in any `perMs` milliseconds. The first publish counts; each counts when left out. */
  throttle: optional(strict({ perMs: duration(1) })).describe(
    'At most one task with this key begins in any `perMs` milliseconds. The first publish counts; each counts when left out.',
  ),
}).meta({ id: 'Publish' })

export interface PublishBody extends TypeOf<typeof publishBody> {}

/** The route checks members one by one, so an illegal member does not refuse the others. */
export const publishManyBody = strict({ tasks: z.array(z.unknown()).min(1).max(BATCH_TASKS_MAX) })

/** The body of a batch as callers see it, with the schema of its members. */
export const documentedPublishManyBody = strict({
  tasks: z.array(publishBody).min(1).max(BATCH_TASKS_MAX),
}).meta({ id: 'PublishMany' })

export const publishAnswer = z.object({ id: z.string(), created: z.boolean(), task })

export type PublishAnswer = TypeOf<typeof publishAnswer>

const publishResult = z.object({
  /** What `POST /v1/tasks` would have answered: 201 for a new task, 200 for an existing key, or the status of `problem`. */
  status: z
    .int()
    .describe(
      'What `POST /v1/tasks` would have answered: 201 for a new task, 200 for an existing key, or the status of `problem`.',
    ),
  id: optional(z.string()),
  created: optional(z.boolean()),
  task: optional(task),
  problem: optional(problemAnswer),
})

export type PublishResult = TypeOf<typeof publishResult>

export const publishManyAnswer = z.object({ results: z.array(publishResult) })
