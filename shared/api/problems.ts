import * as z from 'zod'
import { ERROR_CAUSES_MAX } from '../core/bounds.ts'
import { ENDED_RUN_STATES, RUN_GONE_REASONS } from '../core/states.ts'
import { count, json, optional, shownTime, strict } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Errors of tasks and runs, and the problem documents that refuse requests. */

const shownCause = z.object({ name: z.string(), message: z.string() })

/** Why something failed, as answers show it. */
export const taskError = z
  .object({ ...shownCause.shape, stack: optional(z.string()), causes: optional(z.array(shownCause)) })
  .meta({ id: 'TaskError' })

const cause = { name: z.string().min(1), message: z.string() }

/** Why a run failed, as its worker reports it. Texts that are too long are cut, not refused. */
export const givenError = strict({
  ...cause,
  stack: optional(z.string()),
  causes: optional(z.array(strict(cause)).max(ERROR_CAUSES_MAX)),
})

export const runGone = z.enum(RUN_GONE_REASONS)

export const fieldProblem = z.object({ path: z.string(), message: z.string() })

const runEnd = z
  .object({
    state: z.enum(ENDED_RUN_STATES),
    endedAt: shownTime,
    result: optional(json),
    error: optional(taskError),
    stage: optional(z.string()),
  })
  .meta({
    description:
      'How a run ended. The stack is left out, and so is a result that is stored as an item of its own.',
  })

export const problemAnswer = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    /** The wrong fields of the request, and what is wrong with each. */
    errors: optional(z.array(fieldProblem)).describe(
      'The wrong fields of the request, and what is wrong with each.',
    ),
    /** Why a report about a run was refused. */
    reason: optional(runGone).describe('Why a report about a run was refused.'),
    /** The worker that holds the task now. */
    holder: optional(z.string()).describe('The worker that holds the task now.'),
    /** How the run ended, if that is recorded. The stack is left out, and so is a result that is stored as an item of its own. */
    run: optional(runEnd),
    /** The present revision, when the request expected another one. */
    revision: optional(count).describe('The present revision, when the request expected another one.'),
    /** How long to wait before the next try, in milliseconds. */
    retryAfterMs: optional(count).describe('How long to wait before the next try, in milliseconds.'),
    /** The id under which the log shows this request. */
    requestId: optional(z.string()).describe('The id under which the log shows this request.'),
  })
  .meta({ id: 'Problem', description: 'A problem document (RFC 9457)' })

/** A problem document (RFC 9457). */
export type Problem = TypeOf<typeof problemAnswer>
