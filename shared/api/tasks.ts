import {
  ERROR_FILTER_CHARACTERS_MAX,
  KEY_CHARACTERS_MAX,
  LIST_TYPES_MAX,
  TAG_FILTER_CHARACTERS_MAX,
  TAG_FILTERS_MAX,
  TYPE_CHARACTERS_MAX,
} from '../core/bounds.ts'
import { listOf, open, optional, recordOf, strict } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { integer, literal, name, oneOf, text, time } from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { ENDED_RUN_STATES, STATUS_REASONS, STATUSES, STEP_STATES } from '../core/states.ts'
import { optionsInForce } from './options.ts'
import { fieldProblem, taskError } from './problems.ts'
import {
  count,
  json,
  operations,
  pageOf,
  pageQuery,
  positionQuery,
  revision,
  shownTime,
  userId,
} from './scalars.ts'

/** Tasks: the bodies that change them, the queries that list them, and the answers that show them. */

export const clean = listOf(oneOf('failed', 'succeeded'), { max: 2 })
export const stage = name(TYPE_CHARACTERS_MAX)

const tagFilter = text(
  `name:value, such as team:red, of at most ${TAG_FILTER_CHARACTERS_MAX} characters`,
  value => value.length <= TAG_FILTER_CHARACTERS_MAX && /^.+:/s.test(value),
  { maxLength: TAG_FILTER_CHARACTERS_MAX, pattern: '^.+:' },
)
export const tagFilters = listOf(tagFilter, { max: TAG_FILTERS_MAX })
export const canvasId = name(KEY_CHARACTERS_MAX + 20)

export const listQuery = strict({
  /** The types of the tasks. The lists of several types are merged in their order. @default every type */
  type: optional(listOf(typeNameRule, { max: LIST_TYPES_MAX })),
  /** The canvas whose tasks are listed. @default the tasks of types or of a user */
  canvasId: optional(canvasId),
  /** The user whose tasks are listed. @default the tasks of every user */
  userId: optional(userId),
  /** The statuses of the tasks. @default every status */
  status: optional(listOf(oneOf(...STATUSES))),
  /** Only tasks from this time on, by the time that `order` sorts by. @default no bound */
  since: optional(time),
  /** Only tasks before this time, by the time that `order` sorts by. @default no bound */
  until: optional(time),
  /** Only tasks with this tag, as `name:value`. A task must have every tag that is given. @default any tags */
  tag: optional(tagFilters),
  /** Only tasks whose error contains this text, in its name or its message, in upper or lower case. @default any error, or none */
  error: optional(name(ERROR_FILTER_CHARACTERS_MAX)),
  /**
   * The time by which tasks are sorted; `-` puts the latest first. @default `-created` for a user, `created` for a canvas; for types `due`
   * if only open statuses are asked for, else `ended`
   */
  order: optional(oneOf('due', '-due', 'created', '-created', 'ended', '-ended')),
  ...pageQuery.shape,
})

export type ListQuery = ValueOf<typeof listQuery>

type OneOrMore<Value> = Value | readonly Value[]

/** Which tasks to list. `type`, `status` and `tag` take one value or several. */
export type ListFilter = Omit<ListQuery, 'type' | 'status' | 'tag'> & {
  /** The types of the tasks, at most 10. @default every type */
  readonly type?: OneOrMore<string>
  /** The statuses of the tasks. @default every status */
  readonly status?: OneOrMore<NonNullable<ListQuery['status']>[number]>
  /** Tags that the tasks have, as `name:value`. @default any tags */
  readonly tag?: OneOrMore<string>
}

/** The query of the list that was handed on to a task. Its cursor is a position in that list. */
export const previousQuery = positionQuery(9)

/** A run: one attempt of one worker at a task. */
const run = open(
  {
    /** The id of the run. */
    id: text(),
    /** The worker that runs the task, or has run it. */
    workerId: text(),
    /** How far the run is, or how it ended. */
    state: oneOf('running', ...ENDED_RUN_STATES),
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
    log: optional(text()),
    /** The stage on which the run worked. For a flow it is the step, such as `reserve` or `undo reserve`. */
    stage: optional(text()),
  },
  'Run',
)

export type ApiRun = ValueOf<typeof run>

const historyEntry = open({
  /** The W3C trace id of the run. */
  traceId: optional(text()),
  /** The stage or the step on which the run worked. */
  stage: optional(text()),
  /** When the run began. */
  startedAt: shownTime,
  /** When the run ended. */
  endedAt: shownTime,
  /** How long the run took, in milliseconds. */
  costMs: count,
  /** How the run ended. */
  outcome: oneOf(...ENDED_RUN_STATES),
  /** Why the run failed. */
  error: optional(taskError),
})

export type ApiHistoryEntry = ValueOf<typeof historyEntry>

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
const step = open(
  {
    /** The name of the step. */
    name: text(),
    /** How far the step is. */
    state: oneOf(...STEP_STATES),
    ...action,
    /** The result of the step. */
    result: optional(json),
    /** The undo of the step. */
    undo: optional(open(action)),
  },
  'Step',
)

export type ApiStep = ValueOf<typeof step>

const omittedPart = oneOf('runs.result', 'params', 'steps.result', 'previous')

export type OmittedPart = ValueOf<typeof omittedPart>

export const task = open(
  {
    /** The id of the task: its type, a colon and its key. */
    id: text(),
    /** The type of the task. */
    type: text(),
    /** The idempotency key of the task, unique within its type. */
    key: text(),
    /** How far the task is. */
    status: oneOf(...STATUSES),
    /** What an open task waits for. */
    statusReason: optional(oneOf(...STATUS_REASONS)),
    /** When the task is or was due. */
    dueAt: shownTime,
    /** Higher comes first. */
    priority: integer(),
    /** The user whose task it is. */
    userId: optional(text()),
    /** The tenant of the task. Tasks of different tenants take turns. */
    fairnessKey: optional(text()),
    /** Names and values by which people find the task. */
    tags: optional(recordOf(text())),
    /** The input of the task. Lists leave it out. */
    input: optional(json),
    /** The result of the last run that succeeded. Lists leave it out. */
    result: optional(json),
    /** Why the task failed. */
    error: optional(taskError),
    /** How many different workers must succeed. */
    concurrency: count,
    /** The stage in which the task is. */
    stage: optional(text()),
    /** All live and succeeded runs, and the last 20 others. */
    runs: listOf(run),
    /** The last runs from before a restart, at most 20 with the unsuccessful ones of `runs`. They count no more. Only `GET` shows them. */
    formerRuns: optional(listOf(run)),
    /** The steps of a flow. */
    steps: optional(listOf(step)),
    /** The zero-based index of the step that a flow has reached. */
    cursor: optional(count),
    /** The input of a flow, and the results of its steps under their names. */
    params: optional(recordOf(json)),
    /** An undo has failed for good, or an owed callback cannot be published. An operator must decide. */
    needsAttention: optional(literal(true)),
    /** Why owed callbacks cannot be published with the types as they are configured now. */
    callbackProblems: optional(listOf(fieldProblem)),
    /** The step that an open flow does or undoes next. */
    step: optional(text()),
    /** The type that does or undoes the `step` of an open flow. */
    stepType: optional(text()),
    /** Whether the `step` of an open flow is to be done or undone. */
    direction: optional(oneOf('do', 'undo')),
    /** The value that the task before it handed on. */
    previous: optional(json),
    /** The list that was handed on is too long to be shown. `GET …/previous` reads it in pages. A claim's `input` lacks it. */
    previousPaged: optional(literal(true)),
    /** Set in a claim whose input is the same as `params`, when both are too long for one answer. */
    inputIsParams: optional(literal(true)),
    /** The canvas that the task belongs to. */
    canvasId: optional(text()),
    /** The task whose handler or end published this one. For a debounced task, the task that was running under its key. */
    parentId: optional(text()),
    /** The runs of the present piece of work. */
    attempts: open({
      /** How many runs have counted. */
      used: count,
      /** How many runs are left, the retries included. */
      left: count,
    }),
    /** The last five runs that ended, oldest first. In `GET` of the task also runs from before a restart. */
    history: listOf(historyEntry),
    /** The W3C trace id of the task. */
    traceId: optional(text()),
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
    /** The parts that are left out, wholly or partly, because the answer would be too long. The results of the oldest runs go first. */
    omitted: optional(listOf(omittedPart)),
  },
  'Task',
)

/**
 * A task. `GET` shows all its fields. Answers to writes leave out each input or result that is too large for the head: more than
 * some 200 bytes. Lists and batches leave out all input and results.
 */
export type ApiTask = ValueOf<typeof task>

/** A task after a change. */
export const taskAnswer = open(
  {
    /** The task as it is now. */
    task,
  },
  'TaskAnswer',
)

export type TaskAnswer = ValueOf<typeof taskAnswer>

/** One page of tasks. */
export const taskPage = pageOf(task, 'TaskPage')
/** One page of the results that were handed on. */
export const previousPage = pageOf(json, 'PreviousPage')
