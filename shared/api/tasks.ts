import * as z from 'zod'
import {
  ERROR_FILTER_CHARACTERS_MAX,
  KEY_CHARACTERS_MAX,
  LIST_TYPES_MAX,
  TAG_FILTER_CHARACTERS_MAX,
  TAG_FILTERS_MAX,
  TYPE_CHARACTERS_MAX,
} from '../core/bounds.ts'
import { patchedOptionRules } from '../core/rules/options.ts'
import { ENDED_RUN_STATES, STATUS_REASONS, STATUSES, STEP_STATES } from '../core/states.ts'
import { optionalFields } from './from-rule.ts'
import { optionsInForce } from './options.ts'
import { fieldProblem, taskError } from './problems.ts'
import {
  count,
  cursor,
  duration,
  ifRevision,
  json,
  limit,
  name,
  operations,
  optional,
  pageOf,
  revision,
  shownTime,
  strict,
  tags,
  time,
  typeName,
  userId,
} from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Tasks: the bodies that change them, the queries that list them, and the answers that show them. */

export const clean = z.array(z.enum(['failed', 'succeeded'])).max(2)
export const stage = name(TYPE_CHARACTERS_MAX)

export const patchBody = strict({
  dueAt: optional(time),
  delayMs: optional(duration()),
  input: optional(json),
  stage: optional(stage),
  tags: optional(z.nullable(tags)),
  ...optionalFields(patchedOptionRules),
  ifRevision: optional(ifRevision),
}).meta({ id: 'Patch' })

/** A patch. Null returns an option to the default of the task's type, and removes all tags. */
export type PatchBody = TypeOf<typeof patchBody>

export const retryBody = strict({
  action: optional(z.enum(['restart', 'retry-do', 'retry-undo', 'skip-undo', 'continue', 'retry-callbacks'])),
  clean: optional(clean),
  ifRevision: optional(ifRevision),
})

export type RetryTaskBody = TypeOf<typeof retryBody>

const tagFilter = z
  .string()
  .max(TAG_FILTER_CHARACTERS_MAX)
  .regex(/^.+:/s, 'must be name:value, such as tag=team:red')

export const listQuery = strict({
  /** The types of the tasks. The lists of several types are merged in their order. */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)).describe(
    'The types of the tasks. The lists of several types are merged in their order.',
  ),
  canvasId: optional(name(KEY_CHARACTERS_MAX + 20)),
  userId: optional(userId),
  status: optional(z.array(z.enum(STATUSES))),
  /** Only tasks from this time on, by the time that `order` sorts by. */
  since: optional(time).describe('Only tasks from this time on, by the time that `order` sorts by.'),
  /** Only tasks before this time, by the time that `order` sorts by. */
  until: optional(time).describe('Only tasks before this time, by the time that `order` sorts by.'),
  /** Only tasks with this tag, as `name:value`. A task must have every tag that is given. */
  tag: optional(z.array(tagFilter).max(TAG_FILTERS_MAX)).describe(
    'Only tasks with this tag, as `name:value`. A task must have every tag that is given.',
  ),
  /** Only tasks whose error contains this text, in its name or its message, in upper or lower case. */
  error: optional(name(ERROR_FILTER_CHARACTERS_MAX)).describe(
    'Only tasks whose error contains this text, in its name or its message, in upper or lower case.',
  ),
  order: optional(z.enum(['due', '-due', 'created', '-created', 'ended', '-ended'])),
  limit: optional(limit),
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
  limit: optional(limit),
  cursor: optional(z.string().regex(/^\d{1,9}$/, 'must be a nextCursor of this list')),
})

const run = z
  .object({
    id: z.string(),
    workerId: z.string(),
    state: z.enum(['running', ...ENDED_RUN_STATES]),
    fence: count,
    startedAt: shownTime,
    leaseUntil: optional(shownTime),
    endedAt: optional(shownTime),
    result: optional(json),
    error: optional(taskError),
    progress: optional(json),
    /** The newest log lines of a failed run's handler, at most 4 KB. Only `GET` of the task shows them. */
    log: optional(z.string().meta({ description: "The newest log lines of a failed run's handler" })),
    /** The stage on which the run worked. For a flow it is the step, such as `reserve` or `undo reserve`. */
    stage: optional(z.string()).describe(
      'The stage on which the run worked. For a flow it is the step, such as `reserve` or `undo reserve`.',
    ),
  })
  .meta({ id: 'Run' })

export type ApiRun = TypeOf<typeof run>

const historyEntry = z.object({
  traceId: optional(z.string()),
  stage: optional(z.string()),
  startedAt: shownTime,
  endedAt: shownTime,
  costMs: count,
  outcome: z.enum(ENDED_RUN_STATES),
  error: optional(taskError),
})

export type ApiHistoryEntry = TypeOf<typeof historyEntry>

const action = {
  startedAt: optional(shownTime),
  endedAt: optional(shownTime),
  attempts: count,
  error: optional(taskError),
}

const step = z
  .object({
    name: z.string(),
    state: z.enum(STEP_STATES),
    ...action,
    result: optional(json),
    undo: optional(z.object(action)),
  })
  .meta({ id: 'Step' })

export type ApiStep = TypeOf<typeof step>

const omittedPart = z.enum(['runs.result', 'params', 'steps.result', 'previous'])

export type OmittedPart = TypeOf<typeof omittedPart>

export const task = z
  .object({
    id: z.string(),
    type: z.string(),
    key: z.string(),
    status: z.enum(STATUSES),
    statusReason: optional(z.enum(STATUS_REASONS)),
    dueAt: shownTime,
    priority: z.int(),
    userId: optional(z.string()),
    fairnessKey: optional(z.string()),
    tags: optional(z.record(z.string(), z.string())),
    input: optional(json),
    result: optional(json),
    error: optional(taskError),
    concurrency: count,
    stage: optional(z.string()),
    runs: z.array(run),
    /** The steps of a flow. */
    steps: optional(z.array(step)).describe('The steps of a flow.'),
    /** The zero-based index of the step that a flow has reached. */
    cursor: optional(count).describe('The zero-based index of the step that a flow has reached.'),
    /** The input of a flow, and the results of its steps under their names. */
    params: optional(z.record(z.string(), json)).describe(
      'The input of a flow, and the results of its steps under their names.',
    ),
    /** An undo has failed for good, or an owed callback cannot be published. An operator must decide. */
    needsAttention: optional(z.literal(true)).describe(
      'An undo has failed for good, or an owed callback cannot be published. An operator must decide.',
    ),
    /** Why owed callbacks cannot be published with the types as they are configured now. */
    callbackProblems: optional(z.array(fieldProblem)).describe(
      'Why owed callbacks cannot be published with the types as they are configured now.',
    ),
    /** The step that an open flow does or undoes next. */
    step: optional(z.string()).describe('The step that an open flow does or undoes next.'),
    /** The type that does or undoes the `step` of an open flow. */
    stepType: optional(z.string()).describe('The type that does or undoes the `step` of an open flow.'),
    /** Whether the `step` of an open flow is to be done or undone. */
    direction: optional(z.enum(['do', 'undo'])).describe(
      'Whether the `step` of an open flow is to be done or undone.',
    ),
    /** The value that the task before it handed on. */
    previous: optional(json),
    /** The list that was handed on is too long to be shown. `GET …/previous` reads it in pages. A claim's `input` lacks it. */
    previousPaged: optional(z.literal(true)).describe(
      "The list that was handed on is too long to be shown. `GET …/previous` reads it in pages. A claim's `input` lacks it.",
    ),
    /** Set in a claim whose input is the same as `params`, when both are too long for one answer. */
    inputIsParams: optional(z.literal(true)).describe(
      'Set in a claim whose input is the same as `params`, when both are too long for one answer.',
    ),
    canvasId: optional(z.string()),
    /** The task whose handler or end published this one. For a debounced task, the task that was running under its key. */
    parentId: optional(z.string()).describe(
      'The task whose handler or end published this one. For a debounced task, the task that was running under its key.',
    ),
    attempts: z.object({ used: count, left: count }),
    history: z.array(historyEntry),
    traceId: optional(z.string()),
    createdAt: shownTime,
    startedAt: optional(shownTime),
    updatedAt: shownTime,
    finishedAt: optional(shownTime),
    expiresAt: optional(shownTime),
    /** How often people have changed the task. Publishing it, its runs and other work of the machinery do not count. */
    revision: revision.describe(
      'How often people have changed the task. Publishing it, its runs and other work of the machinery do not count.',
    ),
    /** The last ten changes that callers made over the HTTP API, oldest first. */
    operations: optional(operations).describe(
      'The last ten changes that callers made over the HTTP API, oldest first.',
    ),
    options: optionsInForce,
    /**
     * The parts that are left out, wholly or partly, because the answer would be too long. The results of the oldest runs go first.
     */
    omitted: optional(z.array(omittedPart)).describe(
      'The parts that are left out, wholly or partly, because the answer would be too long. The results of the oldest runs go first.',
    ),
  })
  .meta({ id: 'Task' })

/**
 * A task. `GET` shows all its fields. Answers to writes leave out each input or result that is too large for the head: more than
 * some 200 bytes. Lists and batches leave out all input and results.
 */
export type ApiTask = TypeOf<typeof task>

export const taskAnswer = z.object({ task })

export type TaskAnswer = TypeOf<typeof taskAnswer>

export const taskPage = pageOf(task)
export const previousPage = pageOf(json)
