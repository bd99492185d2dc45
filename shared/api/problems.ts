import * as z from 'zod'
import { ERROR_CAUSES_MAX } from '../core/bounds.ts'
import { ENDED_RUN_STATES, RUN_GONE_REASONS } from '../core/states.ts'
import { count, json, optional, shownTime, strict } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Errors of tasks and runs, and the problem documents that refuse requests. */

const shownCause = z.object({
  /** The name of the error, such as `TypeError`. */
  name: z.string(),
  /** What the error says. */
  message: z.string(),
})

/** Why something failed, as answers show it. */
export const taskError = z
  .object({
    ...shownCause.shape,
    /** Where the error was thrown. */
    stack: optional(z.string()),
    /** The errors that led to this one, the nearest first: at most 5. */
    causes: optional(z.array(shownCause)),
  })
  .meta({ id: 'TaskError' })

const cause = {
  /** The name of the error, such as `TypeError`. */
  name: z.string().min(1),
  /** What the error says. */
  message: z.string(),
}

/** Why a run failed, as its worker reports it. Texts that are too long are cut, not refused. */
export const givenError = strict({
  ...cause,
  /** Where the error was thrown. @default none */
  stack: optional(z.string()),
  /** The errors that led to this one, the nearest first. @default none */
  causes: optional(z.array(strict(cause)).max(ERROR_CAUSES_MAX)),
}).meta({ id: 'GivenError' })

export const runGone = z.enum(RUN_GONE_REASONS)

export const fieldProblem = z.object({
  /** The path of the field in the request, with dots, such as `retry.delayMs`; empty for the body as a whole. */
  path: z.string(),
  /** What is wrong, what is legal, and the value. */
  message: z.string(),
})

const runEnd = z.object({
  /** How the run ended. */
  state: z.enum(ENDED_RUN_STATES),
  /** When it ended. */
  endedAt: shownTime,
  /** Its result, unless it is stored as an item of its own. */
  result: optional(json),
  /** Why it failed. */
  error: optional(taskError),
  /** The stage or the step on which it worked. */
  stage: optional(z.string()),
})

export const problemAnswer = z
  .object({
    /** `urn:baton:problem:` and a code. It is stable: a program may decide by it. */
    type: z.string(),
    /** What the code means, in a few words. */
    title: z.string(),
    /** The status of the answer. */
    status: z.int(),
    /** What happened, to which id, and what would be legal. It is for people, and its words may change. */
    detail: z.string(),
    /** The wrong fields of the request, and what is wrong with each. */
    errors: optional(z.array(fieldProblem)),
    /** Why a report about a run was refused. */
    reason: optional(runGone),
    /** The worker that holds the task now. */
    holder: optional(z.string()),
    /** How the run ended, if that is recorded. The stack is left out, and so is a result that is stored as an item of its own. */
    run: optional(runEnd),
    /** The present revision, when the request expected another one. */
    revision: optional(count),
    /** How long to wait before the next try, in milliseconds. */
    retryAfterMs: optional(count),
    /** The id under which the log shows this request. */
    requestId: optional(z.string()),
  })
  .meta({ id: 'Problem' })

/** A problem document (RFC 9457): the answer to a refused request. */
export type Problem = TypeOf<typeof problemAnswer>
