import { ERROR_CAUSES_MAX } from '../core/bounds.ts'
import { listOf, open, optional, strict } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { integer, oneOf, text } from '../core/rules/scalars.ts'
import { ENDED_RUN_STATES, RUN_GONE_REASONS } from '../core/states.ts'
import { count, json, shownTime } from './scalars.ts'

/** Errors of tasks and runs, and the problem documents that refuse requests. */

const shownCause = open({
  /** The name of the error, such as `TypeError`. */
  name: text(),
  /** What the error says. */
  message: text(),
})

/** Why something failed, as answers show it. */
export const taskError = open(
  {
    ...shownCause.shape,
    /** Where the error was thrown. */
    stack: optional(text()),
    /** The errors that led to this one, the nearest first: at most 5. */
    causes: optional(listOf(shownCause)),
  },
  'TaskError',
)

const cause = {
  /** The name of the error, such as `TypeError`. */
  name: text('text that is not empty', name => name.length > 0, { minLength: 1 }),
  /** What the error says. */
  message: text(),
}

/** Why a run failed, as its worker reports it. Texts that are too long are cut, not refused. */
export const givenError = strict(
  {
    ...cause,
    /** Where the error was thrown. @default none */
    stack: optional(text()),
    /** The errors that led to this one, the nearest first. @default none */
    causes: optional(listOf(strict(cause), { max: ERROR_CAUSES_MAX })),
  },
  'GivenError',
)

export const runGone = oneOf(...RUN_GONE_REASONS)

export const fieldProblem = open({
  /** The path of the field in the request, with dots, such as `retry.delayMs`; empty for the body as a whole. */
  path: text(),
  /** What is wrong, what is legal, and the value. */
  message: text(),
})

const runEnd = open({
  /** How the run ended. */
  state: oneOf(...ENDED_RUN_STATES),
  /** When it ended. */
  endedAt: shownTime,
  /** Its result, unless it is stored as an item of its own. */
  result: optional(json),
  /** Why it failed. */
  error: optional(taskError),
  /** The stage or the step on which it worked. */
  stage: optional(text()),
})

export const problemAnswer = open(
  {
    /** `urn:baton:problem:` and a code. It is stable: a program may decide by it. */
    type: text(),
    /** What the code means, in a few words. */
    title: text(),
    /** The status of the answer. */
    status: integer(),
    /** What happened, to which id, and what would be legal. It is for people, and its words may change. */
    detail: text(),
    /** The wrong fields of the request, and what is wrong with each. */
    errors: optional(listOf(fieldProblem)),
    /** Why a report about a run was refused. */
    reason: optional(runGone),
    /** The worker that holds the task now. */
    holder: optional(text()),
    /** How the run ended, if that is recorded. The stack is left out, and so is a result that is stored as an item of its own. */
    run: optional(runEnd),
    /** The present revision, when the request expected another one. */
    revision: optional(count),
    /** How long to wait before the next try, in milliseconds. */
    retryAfterMs: optional(count),
    /** The id under which the log shows this request. */
    requestId: optional(text()),
  },
  'Problem',
)

/** A problem document (RFC 9457): the answer to a refused request. */
export type Problem = ValueOf<typeof problemAnswer>
