import { BATCH_TASKS_MAX, CALLBACKS_MAX, KEY_CHARACTERS_MAX } from '../core/bounds.ts'
import type { ListRule, ObjectRule } from '../core/rules/compound.ts'
import { anything, listOf, open, optional, recursive, strict, tagsRule } from '../core/rules/compound.ts'
import type { Rule, ValueOf } from '../core/rules/rules.ts'
import { duration, flag, integer, name, oneOf, text, time, traceparentRule } from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { givenOptions, priority } from './options.ts'
import { problemAnswer } from './problems.ts'
import { json, key, userId } from './scalars.ts'
import { clean, stage, task } from './tasks.ts'

/** Publishing one task or many: the bodies and the answers. */

const publishFields = {
  /** The name of the task type. */
  type: typeNameRule,
  /** Idempotency key, unique within the type. A second publish of it creates nothing. @default a new one */
  key: optional(key),
  /** The input of the task, as JSON of at most 350 KB. @default none */
  input: optional(json),
  /** The user whose task it is, by which tasks are listed. @default the user of the parent, or none */
  userId: optional(userId),
  /** Names and values by which people find the task: at most 50. @default none */
  tags: optional(tagsRule),
  /** When the task is due. `delayMs` may be given in its place. @default the time of the publish */
  dueAt: optional(time),
  /** How long until the task is due, in milliseconds. @default 0 */
  delayMs: optional(duration()),
  /** Higher comes first. @default the priority of the type, else 0 */
  priority: optional(priority),
  ...givenOptions,
  /** The W3C trace context that the task continues. @default a new trace */
  traceparent: optional(traceparentRule),
  /** The stage in which the task begins. @default its first one */
  stage: optional(stage),
  /** Whether the task ignores the value that the task before it hands on. @default false */
  immutable: optional(flag()),
  /** The tenant of the task. Tasks of different tenants take turns. @default none */
  fairnessKey: optional(name(KEY_CHARACTERS_MAX)),
}

/**
 * The body of a task that another task, a canvas or a schedule publishes. It has no field about an earlier
 * task of its key, such as `ifExists`. A callback without a key gets one derived from the task that owes it.
 */
export interface DerivedBody extends ValueOf<ObjectRule<typeof publishFields>> {
  /** Tasks that are published once when this one has succeeded. They inherit its user and trace. @default none */
  readonly onSuccess?: readonly DerivedBody[]
  /** Tasks that are published once when this one has failed. They inherit its user and trace. @default none */
  readonly onError?: readonly DerivedBody[]
}

const callback: Rule<DerivedBody> = recursive('Callback', 'an object', (): Rule => derivedBody)
/** Tasks that are published when another one has ended. */
const callbacks: ListRule<typeof callback> = listOf(callback, {
  max: CALLBACKS_MAX,
  component: 'Callbacks',
})

/** A task that is published when another one has ended. */
export const derivedBody = strict(
  { ...publishFields, onSuccess: optional(callbacks), onError: optional(callbacks) },
  'Callback',
)

/** A task to publish. What is left out comes from the type's configuration, then from the system. */
export const publishBody = strict(
  {
    ...publishFields,
    /** Tasks that are published once when this one has succeeded. They inherit its user and trace. @default none */
    onSuccess: optional(callbacks),
    /** Tasks that are published once when this one has failed. They inherit its user and trace. @default none */
    onError: optional(callbacks),
    /**
     * What happens to a task that has the key already. `keep`: nothing. `update`: an open task that does not run gets this input, due time
     * and options. `reject`: 409 while it runs, otherwise as keep. `restart`: 409 while it runs, otherwise it starts over. @default keep
     */
    ifExists: optional(oneOf('keep', 'update', 'reject', 'restart')),
    /** The ended runs that a restart forgets. @default all of them */
    clean: optional(clean),
    /**
     * The task is due `ms` milliseconds after the last publish of its key, and at most `maxWaitMs` milliseconds after the first. The last
     * publish counts. @default each publish counts
     */
    debounce: optional(
      strict({
        /** How long no publish of the key may come before the task is due, in milliseconds. */
        ms: duration(1),
        /** The longest time from the first publish until the task is due, in milliseconds. @default no bound */
        maxWaitMs: optional(duration(1)),
      }),
    ),
    /** At most one task with this key begins in any `perMs` milliseconds. The first publish counts. @default each publish counts */
    throttle: optional(
      strict({
        /** The period in which one task with the key begins, in milliseconds. */
        perMs: duration(1),
      }),
    ),
  },
  'Publish',
)

export interface PublishBody extends ValueOf<typeof publishBody> {}

/** The operation checks members one by one, so an illegal member does not refuse the others. */
export const publishManyBody = strict({ tasks: listOf(anything(), { min: 1, max: BATCH_TASKS_MAX }) })

// Callers see this rule. The operation checks each member by itself.
/** Many tasks to publish. */
export const documentedPublishManyBody = strict(
  {
    /** The tasks to publish. */
    tasks: listOf(publishBody, { min: 1, max: BATCH_TASKS_MAX }),
  },
  'PublishMany',
)

/** The task that has the key now. */
export const publishAnswer = open(
  {
    /** The id of the task: its type, a colon and its key. */
    id: text(),
    /** Whether this call created the task. */
    created: flag(),
    /** The task as it is now. */
    task,
    /** What the caller should know of the task: a limit counts by a key that it lacks. Left out when there is nothing. */
    notes: optional(listOf(text())),
  },
  'Published',
)

export type PublishAnswer = ValueOf<typeof publishAnswer>

/** What became of one task of a batch. */
const publishResult = open(
  {
    /** What `POST /v1/tasks` would have answered: 201 for a new task, 200 for an existing key, or the status of `problem`. */
    status: integer(),
    /** The id of the task. */
    id: optional(text()),
    /** Whether this call created the task. */
    created: optional(flag()),
    /** The task as it is now, without input and result. Left out when the answer would be too long. */
    task: optional(task),
    /** As in the answer to one publish. */
    notes: optional(listOf(text())),
    /** Why the task was refused. */
    problem: optional(problemAnswer),
  },
  'PublishResult',
)

export type PublishResult = ValueOf<typeof publishResult>

/** What became of the tasks of a batch. */
export const publishManyAnswer = open(
  {
    /** The result of each task, in the order of the request. */
    results: listOf(publishResult),
  },
  'PublishedMany',
)
