import { listOf, open, optional, recordOf, strict } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { flag, oneOf, text, time } from '../core/rules/scalars.ts'
import { givenTypeRule } from '../core/rules/type-configuration.ts'
import { ORDERINGS, STATUSES, TYPE_KINDS, WORKER_STATES } from '../core/states.ts'
import { shownDefaults } from './options.ts'
import { count, json, operations, pageOf, revision, shownTime } from './scalars.ts'

/**
 * Task types: their configuration as requests give it and as answers show it, their counts, the purge of their tasks, and the workers that
 * serve them.
 */

/** The configuration of a task type. What is left out has its default. */
export const typeBody = strict(givenTypeRule.shape, 'TypeConfiguration')

export type TypeBody = ValueOf<typeof typeBody>

const stepAction = open({
  /** The type whose workers do it. */
  type: text(),
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
export const typeAnswer = open(
  {
    /** The name of the type. */
    type: text(),
    /** What serves the tasks of the type. */
    kind: oneOf(...TYPE_KINDS),
    /** The options of its tasks, as they were given. */
    defaults: shownDefaults,
    /**
     * The order in which its tasks run: `arrival` by the due time, `priority` the highest first, `aged` by the due time minus `priority`
     * seconds.
     */
    ordering: oneOf(...ORDERINGS),
    /** With `key` (an input field, `userId` or `fairnessKey`), each value of that field has this limit of its own. */
    limits: optional(
      open({
        /** At most `limit` starts in any `perMs`. */
        rate: optional(
          open({
            /** How many runs may start in any span of `perMs`. */
            limit: count,
            /** The span, in milliseconds. */
            perMs: count,
            /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. */
            key: optional(text()),
          }),
        ),
        /** At most `max` runs at a time. */
        concurrency: optional(
          open({
            /** How many runs may be under way at a time. */
            max: count,
            /** A field of the input, `userId` or `fairnessKey`: each of its values has the limit of its own. */
            key: optional(text()),
          }),
        ),
      }),
    ),
    /** The partitions of its indexes. */
    shards: count,
    /** Whether changes of its tasks are published as events. */
    events: flag(),
    /** How a type of kind `webhook` calls its receiver. */
    webhook: optional(
      open({
        /** The URL of the receiver. */
        url: optional(text()),
        /** How long a call may take, in milliseconds. */
        timeoutMs: optional(count),
        /** The name of the secret that signs the calls. */
        secretName: optional(text()),
        /** Whether private and loopback addresses may be called. */
        allowPrivate: optional(flag()),
      }),
    ),
    /** The steps of a type of kind `flow`. */
    steps: optional(
      listOf(
        open({
          /** The name of the step. */
          name: text(),
          /** What does the step. */
          do: stepAction,
          /** What undoes the step. */
          undo: optional(stepAction),
        }),
      ),
    ),
    /** Whether a cancelled flow undoes the steps that were done. */
    onCancel: optional(oneOf('undo', 'leave')),
    /** The JSON Schema of the input: at most 32 KB. */
    inputSchema: optional(recordOf(json)),
    /** Whether inputs are compared with `inputSchema` on arrival. Left out without a schema that was registered for this. */
    checkInput: optional(flag()),
    /** The types that callbacks and steps of its tasks may have besides its own. Only deployment sets it. Absent: any type. */
    otherTypes: optional(listOf(text())),
    /** The purges under way. */
    purges: optional(
      listOf(
        open({
          /** The statuses of the tasks that are removed. */
          status: listOf(oneOf(...STATUSES)),
          /** Only tasks from before this time are removed. */
          before: shownTime,
          /** When the purge was asked for. */
          askedAt: shownTime,
        }),
      ),
    ),
    /** Whether the type is paused. */
    paused: flag(),
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
  },
  'Type',
)

export type ApiType = ValueOf<typeof typeAnswer>

/** One page of types. */
export const typePage = pageOf(typeAnswer, 'TypePage')

/** Whether a type is paused. */
export const pausedAnswer = open(
  {
    /** The name of the type. */
    type: text(),
    /** Whether the type is paused. */
    paused: flag(),
    /** How often people have changed the type. */
    revision,
  },
  'PausedType',
)

export type PausedType = ValueOf<typeof pausedAnswer>

/** How many tasks have each status. Tasks that have ended count while they are kept. */
export const countsAnswer = open(
  {
    /** Tasks that are not due yet, or wait for a retry. */
    delayed: count,
    /** Tasks that are due and wait for a worker, a limit or the end of a pause. */
    ready: count,
    /** Tasks that a worker runs. */
    running: count,
    /** Flows that undo their steps. */
    compensating: count,
    /** Tasks that have ended with success. */
    succeeded: count,
    /** Tasks that have ended with a failure. */
    failed: count,
    /** Tasks that were cancelled. */
    cancelled: count,
  } satisfies Record<(typeof STATUSES)[number], typeof count>,
  'Counts',
)

export type Counts = ValueOf<typeof countsAnswer>

export const purgeBody = strict(
  {
    /** The statuses of the tasks that are removed. */
    status: listOf(oneOf(...STATUSES), { min: 1 }),
    /** Only tasks from before this time are removed. @default the time of the request */
    before: optional(time),
  },
  'Purge',
)

/**
 * The tasks of a type that a purge removes: ended tasks in these statuses that ended before `before`, and open ones that were published
 * before it. A time in the future counts as the time of the request: the purge never touches a task that is published after the request.
 */
export type PurgeBody = ValueOf<typeof purgeBody>

export const purgeAnswer = open(
  {
    /** The name of the type. */
    type: text(),
    /** The statuses of the tasks that are removed. */
    status: listOf(oneOf(...STATUSES)),
    /** Only tasks from before this time are removed. */
    before: shownTime,
  },
  'PurgeStarted',
)

/** Says which tasks the purge removes. */
export type PurgeAnswer = ValueOf<typeof purgeAnswer>

const workerAnswer = open(
  {
    /** The id of the worker. */
    id: text(),
    /** How the worker works: a process with the library, a program over HTTP, or a Lambda function. */
    kind: oneOf('standalone', 'http', 'lambda'),
    /**
     * How the worker is. `draining`: it takes no more tasks. `stopped`: it has stopped, or sends no requests over HTTP any more. `dead`: it
     * gave no sign of life for 30 s and has not stopped.
     */
    state: oneOf(...WORKER_STATES),
    /** The version of the worker. */
    version: optional(text()),
    /** The types that the worker serves. */
    types: listOf(text()),
    /** How many tasks the worker runs, or ran at its last sign of life. */
    running: count,
    /** The first of these tasks, up to five, as a standalone worker last named them. */
    tasks: optional(listOf(text())),
    /** The last sign of life. */
    lastSeen: optional(shownTime),
    /** When the worker stopped. */
    stoppedAt: optional(shownTime),
  },
  'Worker',
)

/** A worker that is there, or was there within the last day. The Lambda workers of a type are shown as one, without `lastSeen`. */
export type ApiWorker = ValueOf<typeof workerAnswer>

/** One page of workers. */
export const workerPage = pageOf(workerAnswer, 'WorkerPage')
