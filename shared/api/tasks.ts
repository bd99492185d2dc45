import * as z from 'zod'
import {
  ERROR_FILTER_CHARACTERS_MAX,
  KEY_CHARACTERS_MAX,
  LIST_TYPES_MAX,
  TAG_FILTER_CHARACTERS_MAX,
  TAG_FILTERS_MAX,
  TYPE_CHARACTERS_MAX,
} from '../core/bounds.ts'
import { ENDED_RUN_STATES, STATUS_REASONS, STATUSES, STEP_STATES } from '../core/states.ts'
import { optionsInForce } from './options.ts'
import { fieldProblem, taskError } from './problems.ts'
import {
  count,
  cursor,
  json,
  limit,
  name,
  operations,
  optional,
  pageOf,
  revision,
  shownTime,
  strict,
  time,
  typeName,
  userId,
} from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Tasks: the bodies that change them, the queries that list them, and the answers that show them. */

export const clean = z.array(z.enum(['failed', 'succeeded'])).max(2)
export const stage = name(TYPE_CHARACTERS_MAX)

const tagFilter = z
  .string()
  .max(TAG_FILTER_CHARACTERS_MAX)
  .regex(/^.+:/s, 'must be name:value, such as tag=team:red')

export const listQuery = strict({
  /** The types of the tasks. The lists of several types are merged in their order. @default every type, of a user or a canvas */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)),
  /** The canvas whose tasks are listed. @default those of types or of a user */
  canvasId: optional(name(KEY_CHARACTERS_MAX + 20)),
  /** The user whose tasks are listed. @default those of every user */
  userId: optional(userId),
  /** The statuses of the tasks. @default every status */
  status: optional(z.array(z.enum(STATUSES))),
  /** Only tasks from this time on, by the time that `order` sorts by. @default no bound */
  since: optional(time),
  /** Only tasks before this time, by the time that `order` sorts by. @default no bound */
  until: optional(time),
  /** Only tasks with this tag, as `name:value`. A task must have every tag that is given. @default any tags */
  tag: optional(z.array(tagFilter).max(TAG_FILTERS_MAX)),
  /** Only tasks whose error contains this text, in its name or its message, in upper or lower case. @default any error, or none */
  error: optional(name(ERROR_FILTER_CHARACTERS_MAX)),
  /**
   * The time by which tasks are sorted; `-` puts the latest first. @default `-created` for a user, `created` for a canvas; for types `due`
   * if only open statuses are asked for, else `ended`
   */
  order: optional(z.enum(['due', '-due', 'created', '-created', 'ended', '-ended'])),
  /** The number of tasks on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type ListQuery = TypeOf<typeof listQuery>

type OneOrMore<Value> = Value | readonly Value[]

/** Which tasks to list. `type`, `status` and `tag` take one value or several. */
export type ListFilter = Omit<ListQuery, 'type' | 'status' | 'tag'> & {
  /** The types of the tasks, at most 10. @default those of every type, which needs a user or a canvas */
  readonly type?: OneOrMore<string>
  /** The statuses of the tasks. @default every status */
  readonly status?: OneOrMore<NonNullable<ListQuery['status']>[number]>
  /** Tags that the tasks have, as `name:value`. @default any tags */
  readonly tag?: OneOrMore<string>
}

/** The query of the list that was handed on to a task. Its cursor is a position in that list. */
export const previousQuery = strict({
  /** The number of results on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(z.string().regex(/^\d{1,9}$/, 'must be a nextCursor of this list')),
})

/** A run: one attempt of one worker at a task. */
const run = z
  .object({
    /** The id of the run. */
    id: z.string(),
    /** The worker that runs the task, or has run it. */
    workerId: z.string(),
    /** How far the run is, or how it ended. */
    state: z.enum(['running', ...ENDED_RUN_STATES]),
    /** The number of the claim. It grows with each claim of the task. */
    fence: count,
    /** When the worker claimed the task. */
    startedAt: shownTime,
    /** For a live run: when its lease ends, unless a heartbeat renews it. */
    leaseUntil: optional(shownTime),
    /** When the run ended. */
    endedAt: optional(shownTime),
    /** The result of the run. */
    result: optional(json),
    /** Why the run failed. */
    error: optional(taskError),
    /** What the worker last reported about its progress. */
    progress: optional(json),
    /** The newest log lines of a failed run's handler, at most 4 KB. Only `GET` of the task shows them. */
    log: optional(z.string()),
    /** The stage on which the run worked. For a flow it is the step, such as `reserve` or `undo reserve`. */
    stage: optional(z.string()),
  })
  .meta({ id: 'Run' })

export type ApiRun = TypeOf<typeof run>

const historyEntry = z.object({
  /** The W3C trace id of the run. */
  traceId: optional(z.string()),
  /** The stage or the step on which the run worked. */
  stage: optional(z.string()),
  /** When the run began. */
  startedAt: shownTime,
  /** When the run ended. */
  endedAt: shownTime,
  /** How long the run took, in milliseconds. */
  costMs: count,
  /** How the run ended. */
  outcome: z.enum(ENDED_RUN_STATES),
  /** Why the run failed. */
  error: optional(taskError),
})

export type ApiHistoryEntry = TypeOf<typeof historyEntry>

const action = {
  /** When its first run began. */
  startedAt: optional(shownTime),
  /** When it ended. */
  endedAt: optional(shownTime),
  /** How many runs it has had. */
  attempts: count,
  /** Why it failed. */
  error: optional(taskError),
}

/** A step of a flow, and how far it is. */
const step = z
  .object({
    /** The name of the step. */
    name: z.string(),
    /** How far the step is. */
    state: z.enum(STEP_STATES),
    ...action,
    /** The result of the step. */
    result: optional(json),
    /** The undo of the step. */
    undo: optional(z.object(action)),
  })
  .meta({ id: 'Step' })

export type ApiStep = TypeOf<typeof step>

const omittedPart = z.enum(['runs.result', 'params', 'steps.result', 'previous'])

export type OmittedPart = TypeOf<typeof omittedPart>

export const task = z
  .object({
    /** The id of the task: its type, a colon and its key. */
    id: z.string(),
    /** The type of the task. */
    type: z.string(),
    /** The idempotency key of the task, unique within its type. */
    key: z.string(),
    /** How far the task is. */
    status: z.enum(STATUSES),
    /** What an open task waits for. */
    statusReason: optional(z.enum(STATUS_REASONS)),
    /** When the task is or was due. */
    dueAt: shownTime,
    /** Higher comes first. */
    priority: z.int(),
    /** The user whose task it is. */
    userId: optional(z.string()),
    /** The tenant of the task. Tasks of different tenants take turns. */
    fairnessKey: optional(z.string()),
    /** Names and values by which people find the task. */
    tags: optional(z.record(z.string(), z.string())),
    /** The input of the task. Lists leave it out. */
    input: optional(json),
    /** The result of the last run that succeeded. Lists leave it out. */
    result: optional(json),
    /** Why the task failed. */
    error: optional(taskError),
    /** How many different workers must succeed. */
    concurrency: count,
    /** The stage in which the task is. */
    stage: optional(z.string()),
    /** All live and succeeded runs, and the last 20 others. */
    runs: z.array(run),
    /** The steps of a flow. */
    steps: optional(z.array(step)),
    /** The zero-based index of the step that a flow has reached. */
    cursor: optional(count),
    /** The input of a flow, and the results of its steps under their names. */
    params: optional(z.record(z.string(), json)),
    /** An undo has failed for good, or an owed callback cannot be published. An operator must decide. */
    needsAttention: optional(z.literal(true)),
    /** Why owed callbacks cannot be published with the types as they are configured now. */
    callbackProblems: optional(z.array(fieldProblem)),
    /** The step that an open flow does or undoes next. */
    step: optional(z.string()),
    /** The type that does or undoes the `step` of an open flow. */
    stepType: optional(z.string()),
    /** Whether the `step` of an open flow is to be done or undone. */
    direction: optional(z.enum(['do', 'undo'])),
    /** The value that the task before it handed on. */
    previous: optional(json),
    /** The list that was handed on is too long to be shown. `GET …/previous` reads it in pages. A claim's `input` lacks it. */
    previousPaged: optional(z.literal(true)),
    /** Set in a claim whose input is the same as `params`, when both are too long for one answer. */
    inputIsParams: optional(z.literal(true)),
    /** The canvas that the task belongs to. */
    canvasId: optional(z.string()),
    /** The task whose handler or end published this one. For a debounced task, the task that was running under its key. */
    parentId: optional(z.string()),
    /** The runs of the present piece of work. */
    attempts: z.object({
      /** How many runs have counted. */
      used: count,
      /** How many runs are left, the retries included. */
      left: count,
    }),
    /** The last five runs that ended, oldest first. */
    history: z.array(historyEntry),
    /** The W3C trace id of the task. */
    traceId: optional(z.string()),
    /** When the task was published. */
    createdAt: shownTime,
    /** When its first run began. */
    startedAt: optional(shownTime),
    /** When the task last changed. */
    updatedAt: shownTime,
    /** When the task ended. */
    finishedAt: optional(shownTime),
    /** When the record of an ended task is deleted. */
    expiresAt: optional(shownTime),
    /** How often people have changed the task. Publishing it, its runs and other work of the machinery do not count. */
    revision: revision,
    /** The last ten changes that callers made over the HTTP API, oldest first. */
    operations: optional(operations),
    /** The options in force, defaults included. */
    options: optionsInForce,
    /**
     * The parts that are left out, wholly or partly, because the answer would be too long. The results of the oldest runs go first.
     */
    omitted: optional(z.array(omittedPart)),
  })
  .meta({ id: 'Task' })

/**
 * A task. `GET` shows all its fields. Answers to writes leave out each input or result that is too large for the head: more than
 * some 200 bytes. Lists and batches leave out all input and results.
 */
export type ApiTask = TypeOf<typeof task>

/** A task after a change. */
export const taskAnswer = z
  .object({
    /** The task as it is now. */
    task,
  })
  .meta({ id: 'TaskAnswer' })

export type TaskAnswer = TypeOf<typeof taskAnswer>

/** One page of tasks. */
export const taskPage = pageOf(task).meta({ id: 'TaskPage' })
/** One page of the results that were handed on. */
export const previousPage = pageOf(json).meta({ id: 'PreviousPage' })
