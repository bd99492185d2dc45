import * as z from 'zod'
import {
  BATCH_TASKS_MAX,
  CLAIM_TASKS_MAX,
  CLAIM_WAIT_MS_MAX,
  DELAY_MS_MAX,
  KEY_CHARACTERS_MAX,
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

/** A worker's request for tasks. */
export const claimsBody = strict({
  /** The type of the tasks. Either this or `types` is given. @default those in `types` */
  type: optional(typeName),
  /** The types of the tasks. Either this or `type` is given. @default that in `type` */
  types: optional(z.array(typeName).min(1).max(20)),
  /** The name of the worker. Each process of a worker has a name of its own. */
  workerId,
  /** How many tasks to claim at most. @default 1 */
  limit: optional(whole(1, CLAIM_TASKS_MAX)),
  /** The version of the worker, for tasks with `minWorkerVersion`. @default none */
  workerVersion: optional(version),
  /** A name of the request. A repetition within the lease returns the same claims. @default none */
  requestId: optional(name(KEY_CHARACTERS_MAX)),
  /** How long the call waits for work, in milliseconds. @default 0 */
  waitMs: optional(whole(0, CLAIM_WAIT_MS_MAX)),
}).meta({ id: 'ClaimRequest' })

export type ClaimsBody = TypeOf<typeof claimsBody>

/** A claimed task and its run. */
const claim = z
  .object({
    /** The claimed task, with its input. */
    task,
    /** The run that has begun. */
    run: z.object({
      /** The id of the run. Reports name it. */
      id: z.string(),
      /** The number of the claim. It grows with each claim of the task. Reports repeat it. */
      fence: count,
      /** When the lease ends, unless a heartbeat renews it. */
      leaseUntil: shownTime,
      /** The same for every run of this piece of work. Services called by the handler can use it to recognise a repetition. */
      idempotencyKey: z.string(),
    }),
  })
  .meta({ id: 'Claim' })

export type Claim = TypeOf<typeof claim>

/** The tasks that the worker runs from now on. */
export const claimsAnswer = z
  .object({
    /** The claimed tasks, in the order of their type; none when there is no work. */
    claims: z.array(claim),
    /** Set when the claim found no work: how many milliseconds the worker should wait before it claims again. */
    retryAfterMs: optional(count),
  })
  .meta({ id: 'Claims' })

export type ClaimsAnswer = TypeOf<typeof claimsAnswer>

const fence = whole(1, Number.MAX_SAFE_INTEGER)
const beat = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** How far the run is, as JSON of at most 1 KB. @default the progress stays as it is */
  progress: optional(json),
}
const next = strict({
  /** The name of the stage. */
  stage,
  /** The input of the stage. @default the present input */
  input: optional(json),
  /** The priority in the stage; higher comes first. @default the present priority */
  priority: optional(priority),
  /** How long until the stage is due, in milliseconds. @default 0 */
  delayMs: optional(duration()),
})
const succeed = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** The result, as JSON of at most 350 KB. @default none */
  result: optional(json),
  /** Moves the task to another stage instead of finishing it. @default the task has finished this run */
  next: optional(next),
}
const failure = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** Why the run failed. It is cut to 4 KB in all. */
  error: givenError,
  /** Whether the task fails without a further retry. @default false */
  fatal: optional(z.boolean()),
  /** How long until the retry, in milliseconds, in place of the backoff. @default the backoff of the task */
  retryInMs: optional(duration(0, DELAY_MS_MAX)),
  /** The newest lines of the run's log, at most 4,096 bytes in UTF-8. Answers show them with the failed run. @default none */
  log: optional(
    // The route checks its length.
    z.string(),
  ),
}
const release = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** How long until the task can be claimed again, in milliseconds. @default 0 */
  delayMs: optional(duration()),
}

/** A sign of life of a run. It renews the lease. */
export const heartbeatBody = strict(beat).meta({ id: 'Heartbeat' })
/** The report that a run has succeeded. */
export const succeedBody = strict(succeed).meta({ id: 'Success' })
/** The report that a run has failed. */
export const failBody = strict(failure).meta({ id: 'Failure' })
/** The report that a worker gives a task back. */
export const releaseBody = strict(release).meta({ id: 'Release' })

export type HeartbeatBody = TypeOf<typeof heartbeatBody>
export type SucceedBody = TypeOf<typeof succeedBody>
export type FailBody = TypeOf<typeof failBody>
export type ReleaseBody = TypeOf<typeof releaseBody>

/** The lease of a run after a heartbeat. */
export const heartbeatAnswer = z
  .object({
    /** When the lease ends now, unless a further heartbeat renews it. */
    leaseUntil: shownTime,
    /** The options in force. A patch may have changed them since the claim. */
    options: optionsInForce,
  })
  .meta({ id: 'RenewedLease' })

export type HeartbeatAnswer = TypeOf<typeof heartbeatAnswer>

const runName = {
  /** The id of the task. */
  taskId: z.string(),
  /** The id of the run, from its claim. */
  runId: z.string(),
}

export type RunName = TypeOf<z.ZodObject<typeof runName>>

/** A sign of life of one run of a batch. */
export const heartbeatMember = strict({ ...runName, ...beat }).meta({ id: 'RunHeartbeat' })
/** The report about the end of one run of a batch. */
export const finishMembers = {
  succeed: strict({
    ...runName,
    /** The run has succeeded. */
    outcome: z.literal('succeed'),
    ...succeed,
  }).meta({ id: 'RunSuccess' }),
  fail: strict({
    ...runName,
    /** The run has failed. */
    outcome: z.literal('fail'),
    ...failure,
  }).meta({ id: 'RunFailure' }),
  release: strict({
    ...runName,
    /** The task is given back. */
    outcome: z.literal('release'),
    ...release,
  }).meta({ id: 'RunRelease' }),
}

export type FinishMember = {
  [Outcome in keyof typeof finishMembers]: TypeOf<(typeof finishMembers)[Outcome]>
}[keyof typeof finishMembers]

/** The outcome of a member of a batch. It decides which of the `finishMembers` checks the member. */
export const finishOutcome = z.object({ outcome: z.enum(['succeed', 'fail', 'release']) })

// Callers see this schema. The route checks each member by itself.
/** Signs of life of many runs. */
export const documentedHeartbeatsBody = strict({
  /** The runs whose leases are renewed. */
  runs: z.array(heartbeatMember).min(1).max(BATCH_TASKS_MAX),
}).meta({ id: 'HeartbeatMany' })

// Callers see this schema. The route checks each member by itself.
/** Reports about the ends of many runs. */
export const documentedFinishBody = strict({
  /** The runs that have ended. */
  runs: z
    .array(
      z.discriminatedUnion('outcome', [finishMembers.succeed, finishMembers.fail, finishMembers.release]),
    )
    .min(1)
    .max(BATCH_TASKS_MAX),
}).meta({ id: 'FinishMany' })

/** The route checks members one by one, so an illegal member does not refuse the others. */
export const runsBody = strict({ runs: z.array(z.unknown()).min(1).max(BATCH_TASKS_MAX) })

const runResult = {
  ...runName,
  /** What the single call would have answered: 200, or the status of `problem`. */
  status: z.int(),
  /** Why the report was refused. */
  reason: optional(runGone),
  /** The worker that holds the task now. */
  holder: optional(z.string()),
  /** Why the report was refused, in full. */
  problem: optional(problemAnswer),
}

/** The result of one run in a batch: what the single call would have answered. */
export type RunResult = TypeOf<z.ZodObject<typeof runResult>>

/** What became of one heartbeat of a batch. */
const heartbeatResult = z
  .object({
    ...runResult,
    /** When the lease ends now. */
    leaseUntil: optional(shownTime),
    /** The options in force. Left out when the answer would be too long. */
    options: optional(optionsInForce),
  })
  .meta({ id: 'HeartbeatResult' })

/** What became of the heartbeats of a batch. */
export const heartbeatsAnswer = z
  .object({
    /** The result of each run, in the order of the request. */
    results: z.array(heartbeatResult),
  })
  .meta({ id: 'HeartbeatResults' })

/** What became of one report of a batch. */
const finishResult = z
  .object({
    ...runResult,
    /** The task as it is now. Left out when the answer would be too long. */
    task: optional(task),
  })
  .meta({ id: 'FinishResult' })

/** What became of the reports of a batch. */
export const finishesAnswer = z
  .object({
    /** The result of each run, in the order of the request. */
    results: z.array(finishResult),
  })
  .meta({ id: 'FinishResults' })
