import {
  BATCH_TASKS_MAX,
  CLAIM_TASKS_MAX,
  CLAIM_WAIT_MS_MAX,
  DELAY_MS_MAX,
  KEY_CHARACTERS_MAX,
  LIVE_LOG_BYTES_MAX,
} from '../core/bounds.ts'
import { anyOf, anything, listOf, type ObjectRule, open, optional, strict } from '../core/rules/compound.ts'
import { versionRule, workerIdRule } from '../core/rules/options.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import {
  duration,
  flag,
  integer,
  literal,
  name,
  oneOf,
  shortText,
  text,
  whole,
} from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { optionsInForce, priority } from './options.ts'
import { givenError, problemAnswer, runGone } from './problems.ts'
import { count, json, shownTime } from './scalars.ts'
import { stage, task } from './tasks.ts'

/** Claims, workers' reports about their runs, and the answers to both. */

/** A worker's request for tasks. */
export const claimsBody = strict(
  {
    /** The type of the tasks. Either this or `types` is given. @default those in `types` */
    type: optional(typeNameRule),
    /** The types of the tasks. Either this or `type` is given. @default that in `type` */
    types: optional(listOf(typeNameRule, { min: 1, max: 20 })),
    /** The name of the worker. Each process of a worker has a name of its own. */
    workerId: workerIdRule,
    /** How many tasks to claim at most. @default 1 */
    limit: optional(whole(1, CLAIM_TASKS_MAX)),
    /** The version of the worker, for tasks with `minWorkerVersion`. @default none */
    workerVersion: optional(versionRule),
    /** A name of the request. A repetition within the lease returns the same claims. @default none */
    requestId: optional(name(KEY_CHARACTERS_MAX)),
    /** How long the call waits for work, in milliseconds. @default 0 */
    waitMs: optional(whole(0, CLAIM_WAIT_MS_MAX)),
  },
  'ClaimRequest',
)

export type ClaimsBody = ValueOf<typeof claimsBody>

/** A claimed task and its run. */
const claim = open(
  {
    /** The claimed task, with its input. */
    task,
    /** The run that has begun. */
    run: open({
      /** The id of the run. Reports name it. */
      id: text(),
      /** The number of the claim. It grows with each claim of the task. Reports repeat it. */
      fence: count,
      /** When the lease ends, unless a heartbeat renews it. */
      leaseUntil: shownTime,
      /** The same for every run of this piece of work. Services called by the handler can use it to recognise a repetition. */
      idempotencyKey: text(),
    }),
  },
  'Claim',
)

export type Claim = ValueOf<typeof claim>

/** The tasks that the worker runs from now on. */
export const claimsAnswer = open(
  {
    /** The claimed tasks, in the order of their type; none when there is no work. */
    claims: listOf(claim),
    /** Set when the claim found no work: how many milliseconds the worker should wait before it claims again. */
    retryAfterMs: optional(count),
  },
  'Claims',
)

export type ClaimsAnswer = ValueOf<typeof claimsAnswer>

const fence = whole(1, Number.MAX_SAFE_INTEGER)
const beat = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** How far the run is, as JSON of at most 1 KB. @default the progress stays as it is */
  progress: optional(json),
  /** The newest log lines of the handler, at most 1,024 bytes in UTF-8. Stored for a task with the option `liveLog`. @default the log stays as it is */
  log: optional(shortText(LIVE_LOG_BYTES_MAX)),
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
  fatal: optional(flag()),
  /** How long until the retry, in milliseconds, in place of the backoff. @default the backoff of the task */
  retryInMs: optional(duration(0, DELAY_MS_MAX)),
  /** The newest lines of the run's log, at most 4,096 bytes in UTF-8. Answers show them with the failed run. @default none */
  log: optional(
    // The operation checks its length.
    text(),
  ),
}
const release = {
  /** The `fence` of the run, from its claim. */
  fence,
  /** How long until the task can be claimed again, in milliseconds. @default 0 */
  delayMs: optional(duration()),
}

/** A sign of life of a run. It renews the lease. */
export const heartbeatBody = strict(beat, 'Heartbeat')
/** The report that a run has succeeded. */
export const succeedBody = strict(succeed, 'Success')
/** The report that a run has failed. */
export const failBody = strict(failure, 'Failure')
/** The report that a worker gives a task back. */
export const releaseBody = strict(release, 'Release')

export type HeartbeatBody = ValueOf<typeof heartbeatBody>
export type SucceedBody = ValueOf<typeof succeedBody>
export type FailBody = ValueOf<typeof failBody>
export type ReleaseBody = ValueOf<typeof releaseBody>

/** The lease of a run after a heartbeat. */
export const heartbeatAnswer = open(
  {
    /** When the lease ends now, unless a further heartbeat renews it. */
    leaseUntil: shownTime,
    /** The options in force. A patch may have changed them since the claim. */
    options: optionsInForce,
  },
  'RenewedLease',
)

export type HeartbeatAnswer = ValueOf<typeof heartbeatAnswer>

const runName = {
  /** The id of the task. */
  taskId: text(),
  /** The id of the run, from its claim. */
  runId: text(),
}

export type RunName = ValueOf<ObjectRule<typeof runName>>

/** A sign of life of one run of a batch. */
export const heartbeatMember = strict({ ...runName, ...beat }, 'RunHeartbeat')
/** The report about the end of one run of a batch. */
export const finishMembers = {
  succeed: strict(
    {
      ...runName,
      /** The run has succeeded. */
      outcome: literal('succeed'),
      ...succeed,
    },
    'RunSuccess',
  ),
  fail: strict(
    {
      ...runName,
      /** The run has failed. */
      outcome: literal('fail'),
      ...failure,
    },
    'RunFailure',
  ),
  release: strict(
    {
      ...runName,
      /** The task is given back. */
      outcome: literal('release'),
      ...release,
    },
    'RunRelease',
  ),
}

export type FinishMember = {
  [Outcome in keyof typeof finishMembers]: ValueOf<(typeof finishMembers)[Outcome]>
}[keyof typeof finishMembers]

/** The outcome of a member of a batch. It decides which of the `finishMembers` checks the member. */
export const finishOutcome = open({ outcome: oneOf('succeed', 'fail', 'release') })

// Callers see this rule. The operation checks each member by itself.
/** Signs of life of many runs. */
export const documentedHeartbeatsBody = strict(
  {
    /** The runs whose leases are renewed. */
    runs: listOf(heartbeatMember, { min: 1, max: BATCH_TASKS_MAX }),
  },
  'HeartbeatMany',
)

// Callers see this rule. The operation checks each member by itself.
/** Reports about the ends of many runs. */
export const documentedFinishBody = strict(
  {
    /** The runs that have ended. */
    runs: listOf(
      anyOf('the end of a run', [finishMembers.succeed, finishMembers.fail, finishMembers.release], {
        keyword: 'oneOf',
      }),
      { min: 1, max: BATCH_TASKS_MAX },
    ),
  },
  'FinishMany',
)

/** The operation checks members one by one, so an illegal member does not refuse the others. */
export const runsBody = strict({ runs: listOf(anything(), { min: 1, max: BATCH_TASKS_MAX }) })

const runResult = {
  ...runName,
  /** What the single call would have answered: 200, or the status of `problem`. */
  status: integer(),
  /** Why the report was refused. */
  reason: optional(runGone),
  /** The worker that holds the task now. */
  holder: optional(text()),
  /** Why the report was refused, in full. */
  problem: optional(problemAnswer),
}

/** The result of one run in a batch: what the single call would have answered. */
export type RunResult = ValueOf<ObjectRule<typeof runResult>>

/** What became of one heartbeat of a batch. */
const heartbeatResult = open(
  {
    ...runResult,
    /** When the lease ends now. */
    leaseUntil: optional(shownTime),
    /** The options in force. Left out when the answer would be too long. */
    options: optional(optionsInForce),
  },
  'HeartbeatResult',
)

/** What became of the heartbeats of a batch. */
export const heartbeatsAnswer = open(
  {
    /** The result of each run, in the order of the request. */
    results: listOf(heartbeatResult),
  },
  'HeartbeatResults',
)

/** What became of one report of a batch. */
const finishResult = open(
  {
    ...runResult,
    /** The task as it is now. Left out when the answer would be too long. */
    task: optional(task),
  },
  'FinishResult',
)

/** What became of the reports of a batch. */
export const finishesAnswer = open(
  {
    /** The result of each run, in the order of the request. */
    results: listOf(finishResult),
  },
  'FinishResults',
)
