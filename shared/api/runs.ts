import * as z from 'zod'
import {
  BATCH_TASKS_MAX,
  CLAIM_TASKS_MAX,
  CLAIM_WAIT_MS_MAX,
  DELAY_MS_MAX,
  KEY_CHARACTERS_MAX,
  RUN_LOG_BYTES_MAX,
} from '../core/bounds.ts'
import { optionsInForce, priority } from './options.ts'
import { givenError, problemAnswer, runGone } from './problems.ts'
import {
  count,
  duration,
  json,
  name,
  optional,
  shownTime,
  strict,
  typeName,
  version,
  whole,
  workerId,
} from './scalars.ts'
import { stage, task } from './tasks.ts'
import type { TypeOf } from './type-of.ts'

/** Claims, workers' reports about their runs, and the answers to both. */

export const claimsBody = strict({
  /** Either this or `types` is given. */
  type: optional(typeName),
  types: optional(z.array(typeName).min(1).max(20)),
  workerId,
  limit: optional(whole(1, CLAIM_TASKS_MAX)),
  workerVersion: optional(version),
  requestId: optional(name(KEY_CHARACTERS_MAX)),
  waitMs: optional(whole(0, CLAIM_WAIT_MS_MAX)),
})

export type ClaimsBody = TypeOf<typeof claimsBody>

const claim = z.object({
  task,
  run: z.object({ id: z.string(), fence: count, leaseUntil: shownTime, idempotencyKey: z.string() }),
})

export type Claim = TypeOf<typeof claim>

export const claimsAnswer = z.object({
  claims: z.array(claim),
  /** Set when the claim found no work: how many milliseconds the worker should wait before it claims again. */
  retryAfterMs: optional(count).describe(
    'Set when the claim found no work: how many milliseconds the worker should wait before it claims again.',
  ),
})

export type ClaimsAnswer = TypeOf<typeof claimsAnswer>

const fence = whole(1, Number.MAX_SAFE_INTEGER)
const beat = { fence, progress: optional(json) }
const next = strict({
  stage,
  input: optional(json),
  priority: optional(priority),
  delayMs: optional(duration()),
})
const succeed = {
  fence,
  result: optional(json),
  /** Moves the task to another stage instead of finishing it. */
  next: optional(next).describe('Moves the task to another stage instead of finishing it.'),
}
const failure = {
  fence,
  error: givenError,
  fatal: optional(z.boolean()),
  retryInMs: optional(duration(0, DELAY_MS_MAX)),
  /** The newest lines of the run's log, at most 4,096 bytes in UTF-8. Answers show them with the failed run. */
  log: optional(
    // The route checks its length.
    z.string().meta({
      description: `The newest lines of the run's log, at most ${RUN_LOG_BYTES_MAX} bytes in UTF-8`,
    }),
  ),
}
const release = { fence, delayMs: optional(duration()) }

export const heartbeatBody = strict(beat)
export const succeedBody = strict(succeed)
export const failBody = strict(failure)
export const releaseBody = strict(release)

export type HeartbeatBody = TypeOf<typeof heartbeatBody>
export type SucceedBody = TypeOf<typeof succeedBody>
export type FailBody = TypeOf<typeof failBody>
export type ReleaseBody = TypeOf<typeof releaseBody>

export const heartbeatAnswer = z.object({ leaseUntil: shownTime, options: optionsInForce })

export type HeartbeatAnswer = TypeOf<typeof heartbeatAnswer>

const runName = { taskId: z.string(), runId: z.string() }

export type RunName = TypeOf<z.ZodObject<typeof runName>>

export const heartbeatMember = strict({ ...runName, ...beat })
export const finishMembers = {
  succeed: strict({ ...runName, outcome: z.literal('succeed'), ...succeed }),
  fail: strict({ ...runName, outcome: z.literal('fail'), ...failure }),
  release: strict({ ...runName, outcome: z.literal('release'), ...release }),
}

export type FinishMember = {
  [Outcome in keyof typeof finishMembers]: TypeOf<(typeof finishMembers)[Outcome]>
}[keyof typeof finishMembers]

/** The outcome of a member of a batch. It decides which of the `finishMembers` checks the member. */
export const finishOutcome = z.object({ outcome: z.enum(['succeed', 'fail', 'release']) })

/** The route checks members one by one, so an illegal member does not refuse the others. */
export const runsBody = strict({ runs: z.array(z.unknown()).min(1).max(BATCH_TASKS_MAX) })

const runResult = {
  ...runName,
  status: z.int(),
  reason: optional(runGone),
  holder: optional(z.string()),
  problem: optional(problemAnswer),
}

/** The result of one run in a batch: what the single call would have answered. */
export type RunResult = TypeOf<z.ZodObject<typeof runResult>>

export const heartbeatsAnswer = z.object({
  results: z.array(
    z.object({ ...runResult, leaseUntil: optional(shownTime), options: optional(optionsInForce) }),
  ),
})

export const finishesAnswer = z.object({
  results: z.array(z.object({ ...runResult, task: optional(task) })),
})
