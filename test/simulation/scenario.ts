import type { Composition } from '../../shared/core/canvas/tree.ts'
import type { ResumeAction } from '../../shared/core/flow/resume.ts'
import type { Clean } from '../../shared/core/operate/operate.ts'
import type { PartialOptions } from '../../shared/core/options.ts'
import type { Ordering } from '../../shared/core/states.ts'
import type { Missed, Timing } from '../../shared/core/task/head-fields.ts'
import type { Status } from '../../shared/core/task/lifecycle.ts'
import type { StepConfiguration, TypeLimits } from '../../shared/core/types/task-type.ts'
import type { PatchRequest } from '../../shared/runtime/operate/patch-task.ts'
import type { PublishRequest } from '../../shared/runtime/publish/resolve-publication.ts'
import type { OddErrorName } from './odd-errors.ts'
import type { OddResultName } from './odd-results.ts'
import type { DamageName } from './world/damage.ts'

/**
 * A simulated run as data. The same scenario always plays the same way. A part can be removed to see whether a
 * fault still shows without it. Times are milliseconds from the start.
 */
export type Scenario = {
  readonly seed: number
  /** What goes wrong by chance until `calmAt`. */
  readonly weather: Weather
  /** From this time on nothing goes wrong by chance. Every task must then reach its end. */
  readonly calmAt: number
  readonly types: readonly TypeSetup[]
  /** The workers of the steps' types execute the flows. */
  readonly flows: readonly FlowSetup[]
  readonly workers: readonly WorkerSetup[]
  readonly steps: readonly Step[]
  /**
   * How long the simulation continues after every task has reached its end, to show that no message circulates
   * for ever.
   */
  readonly afterwardsMs: number
  /** Once it is calm, every task must reach its end within this time. @default 45 minutes */
  readonly settlingMs?: number
  /** The trial that this scenario belongs to. Most scenarios belong to none. */
  readonly trial?: TrialName
  readonly outages?: readonly Outage[]
  readonly lost?: Lost
  readonly conditions?: Conditions
  /**
   * Readers ask the API at random moments and at rest. The planner then publishes events, and counts activity and
   * failures, as the deployed one does.
   */
  readonly hasReaders?: true
  /** Every request to the table is recorded, because promises about costs count them. */
  readonly isMetered?: true
}

/** A trial is a kind of scenario that tests one thing. `generate/trials` draws a few seeds of each kind. */
export type TrialName =
  | 'crowd'
  | 'outage'
  | 'scheduler-outage'
  | 'looks'
  | 'clock-steps'
  | 'backlog'
  | 'tenants'
  | 'expiry'
  | 'restarts'
  | 'stages'
  | 'signals'
  | 'nightly'
  | 'faults'
  | 'reports'
  | 'rates'
  | 'overdue'
  | 'moved-types'
  | 'purged-canvases'
  | 'purges'
  | 'idle-days'
  | 'front'
  | 'coalesced'
  | 'owed-callbacks'
  | 'late-ticks'
  | 'quick-restarts'
  | 'permits'
  | 'sagas'
  | 'edits'
  | 'regrouped'
  | 'many-permits'
  | 'unclaimable'
  | 'own-retries'
  | 'odd-errors'
  | 'waits'
  | 'missed-ticks'
  | 'requests'
  | 'bodies'
  | 'odd-results'
  | 'sizes'
  | 'damaged-heads'
  | 'stuck'
  | 'after-runs'
  | 'costs'

/**
 * The services that can each have an outage. `functions` means all invocations of Lambda functions.
 */
export type Service = 'table' | 'queues' | 'scheduler' | 'functions'

/** One service answers no call for `ms` milliseconds after `from`. All outages end by `calmAt`. */
export type Outage = { readonly service: Service; readonly from: number; readonly ms: number }

/**
 * One event that is lost, the nth of its kind: a message of any queue, a batch of the stream, the EventBridge
 * schedule of a far minute, or a round of the sweeper. A far minute has tasks that are due further ahead than an
 * SQS delay reaches (15 minutes).
 */
export type Lost = { readonly what: 'message' | 'batch' | 'minute' | 'round'; readonly nth: number }

/** Properties of the simulated services that hold in calm weather, too. */
export type Conditions = {
  /** How many invocations of the waker run at once at most. @default 50 */
  readonly wakers?: number
  /** How many invocations of each type's Lambda run at once at most. @default 20 */
  readonly executors?: number
  /** Pages of a query end after this many entries. */
  readonly pageMax?: number
  /** A round of the sweeper reads this many tasks of each kind, and the next round continues. @default thousands */
  readonly sweptAtOnce?: number
  /** An environment of a function ends after this many invocations. @default 30 */
  readonly invocations?: number
  /** The table deletes an expired head at most this long after its expiry. @default never */
  readonly ttlLagMs?: number
}

/** The share, from 0 to 1, of the events that go wrong, and how far clocks may be off. */
export type Weather = {
  /** Calls that are refused without an effect, as by throttling. */
  readonly refused: number
  /** Calls that take effect and are answered with an error. */
  readonly answerLost: number
  /** Calls that take seconds. */
  readonly slow: number
  /** Calls during which the calling process dies, before or after the effect. */
  readonly death: number
  /** Calls during which the calling process freezes for up to 40 s and then continues. */
  readonly freeze: number
  readonly messageLost: number
  readonly messageDoubled: number
  readonly messageLate: number
  /** Batches of the stream that are never delivered. */
  readonly streamGap: number
  /** Reads of a stream shard that are late by up to a minute. */
  readonly streamLate: number
  /** Batches of the stream that are delivered a second time later. */
  readonly streamAgain: number
  /** Writes that an index shows only seconds later. */
  readonly staleIndex: number
  /** EventBridge schedules that fire late, twice, or not at all. */
  readonly scheduleOff: number
  /** The error of each clock is constant and at most this, in either direction, in milliseconds. */
  readonly skewMs: number
  /**
   * Each clock jumps every few seconds. Between two jumps its error is at most this, in either direction, in
   * milliseconds.
   */
  readonly stepMs: number
}

export const CALM: Weather = {
  refused: 0,
  answerLost: 0,
  slow: 0,
  death: 0,
  freeze: 0,
  messageLost: 0,
  messageDoubled: 0,
  messageLate: 0,
  streamGap: 0,
  streamLate: 0,
  streamAgain: 0,
  staleIndex: 0,
  scheduleOff: 0,
  skewMs: 0,
  stepMs: 0,
}

/** What executes the tasks of a type. */
export type ServedBy = 'lambda' | 'workers' | 'http'

export type TypeSetup = {
  readonly type: string
  readonly servedBy: ServedBy
} & TypeContent

/** The settings of a type. */
export type TypeContent = {
  readonly defaults: PartialOptions
  readonly shards: number
  readonly limits?: TypeLimits
  readonly ordering?: Ordering
}

export type FlowSetup = {
  readonly type: string
  readonly steps: readonly StepConfiguration[]
  readonly onCancel: 'undo' | 'leave'
  readonly defaults: PartialOptions
  readonly shards: number
}

export type WorkerSetup = {
  readonly kind: 'standalone' | 'http'
  readonly workerId: string
  readonly types: readonly string[]
  readonly concurrency: number
  readonly version?: string
  /** When the worker starts for the first time. */
  readonly startsAt: number
}

/**
 * What a handler does in one run. It works for `ms`, and then ends as `end` says:
 *
 * - `fatal`    fails for good
 * - `later`    fails, and sets the delay of the retry
 * - `release`  gives the task back
 * - `crash`    takes its process down
 * - `hang`     never ends
 * - `deaf`     ignores the abort signal, and succeeds
 * - `child`    publishes a child task, and succeeds
 * - `next`     moves the task to another stage
 */
export type Act = {
  readonly ms: number
  readonly end:
    | 'succeed'
    | 'fail'
    | 'fatal'
    | 'later'
    | 'release'
    | 'crash'
    | 'hang'
    | 'deaf'
    | 'child'
    | 'next'
  /** The run lasts until this time of the scenario if `ms` would end it earlier. */
  readonly until?: number
  /** The delay that a handler gives with `later`, `release` or `next`. */
  readonly delay?: OddNumber
  /** The delay that `later` sets, in milliseconds, and a `release` if it is given. @default 700 */
  readonly laterMs?: number
  /** The value of the field `shop` in the input of the next stage. See `Script`. */
  readonly shop?: string
  /** What a handler that fails throws. @default a plain error */
  readonly odd?: OddErrorName
  /** What a handler that succeeds returns. @default a plain object */
  readonly gives?: OddResultName
  /** The reports that an HTTP worker sends after the report of this act, when the run is already over. */
  readonly repeats?: readonly RepeatedReport[]
}

/**
 * A further report of the same run. Two reports with the same end and number are equal. The report of the act
 * itself has the number 0.
 */
export type RepeatedReport = { readonly end: Act['end']; readonly nth: number }

/** Illegal numbers that handlers may give, by name, because JSON cannot represent some of them. */
export type OddNumber = 'NaN' | 'Infinity' | '-Infinity' | '-5' | '1e300' | '9007199254740991'

/** What each run of a task does. */
export type Script = {
  /** Identifies the publish. */
  readonly nonce: number
  /** The acts of a task without stages and steps, one for each run. */
  readonly acts: readonly Act[]
  /** The acts of each stage, and of each step by `one` (do) or `undo one`. */
  readonly pieces?: Readonly<Record<string, readonly Act[]>>
  /**
   * The number of characters that are added to input and result. Enough of them make Baton store the body apart
   * from the head.
   */
  readonly padding: number
  /** A field of the input whose value a limit can use as its key. */
  readonly shop?: string
  /** A number in the input that must never be stored in an error or a log. */
  readonly secret?: string
}

/** A task that a callback, a canvas or a schedule publishes. */
export type Job = Script &
  Callbacks & {
    readonly type: string
    readonly options?: PartialOptions
    readonly delayMs?: number
    readonly stage?: string
    readonly immutable?: true
    /** A key of its own, by which it may name a task that exists. @default follows from the task that publishes it */
    readonly key?: string
    readonly ifExists?: PublishRequest['ifExists']
    /** Whether its input is an array, to which the handed-on results are appended. */
    readonly isList?: true
  }

export type Callbacks = { readonly onSuccess?: readonly Job[]; readonly onError?: readonly Job[] }

/** What a caller, an operator or a machine fault does at a time. */
export type Step = { readonly at: number } & (
  | ({
      readonly do: 'publish'
      readonly request: Omit<PublishRequest, 'input' | keyof Callbacks> & { readonly key: string }
    } & Script &
      Callbacks)
  /** A canvas with the same key always has the same composition. */
  | {
      readonly do: 'publish-canvas'
      readonly canvas: string
      readonly composition: Composition<Job>
      readonly sendConcurrency?: number
    }
  | { readonly do: 'cancel-canvas' | 'read-canvas'; readonly canvas: string }
  | {
      readonly do: 'operate-member'
      readonly canvas: string
      readonly leaf: number
      readonly operation: 'cancel' | 'remove' | 'restart'
    }
  /** `timing.at` counts from the start of the scenario. */
  | {
      readonly do: 'put-schedule'
      readonly schedule: string
      readonly timing: Timing
      readonly missed: Missed
      readonly graceMs: number
      readonly job: Job
    }
  | {
      readonly do:
        | 'pause-schedule'
        | 'resume-schedule'
        | 'remove-schedule'
        | 'trigger-schedule'
        | 'read-schedule'
      readonly schedule: string
    }
  /** An operator tries the actions in turn until one is accepted. */
  | { readonly do: 'resume'; readonly id: string; readonly actions: readonly ResumeAction[] }
  | { readonly do: 'deploy-flow'; readonly flow: FlowSetup }
  | { readonly do: 'cancel' | 'remove' | 'read' | 'retry-callbacks'; readonly id: string }
  /** Another program gives a head a form that this code cannot read. */
  | { readonly do: 'damage'; readonly id: string; readonly how: DamageName }
  /** A caller asks the API about a task, lists the tasks of its type, or removes it. */
  | { readonly do: 'ask'; readonly operation: 'get' | 'why' | 'list' | 'remove'; readonly id: string }
  /** An editor reads a task, and changes its priority `afterMs` later, unless another editor has changed the task since. */
  | { readonly do: 'edit'; readonly id: string; readonly afterMs: number; readonly priority: number }
  /** A caller sends requests at this many bounds of the API. None of them is carried out. */
  | { readonly do: 'check-requests'; readonly bounds: number }
  | { readonly do: 'list'; readonly type: string; readonly status: Status }
  | { readonly do: 'purge'; readonly type: string; readonly statuses: readonly Status[] }
  | { readonly do: 'restart'; readonly id: string; readonly clean: Clean }
  | { readonly do: 'patch'; readonly id: string; readonly changes: PatchRequest }
  /** Sets the type: `deploy` by a deployment, `put-type` by the API. */
  | ({
      readonly do: 'deploy' | 'put-type'
      readonly type: string
      readonly kind: 'handler' | 'http'
    } & TypeContent)
  /** A deployment lets other workers serve the type, and so changes its kind. */
  | ({ readonly do: 'move-type'; readonly type: string; readonly servedBy: 'lambda' | 'http' } & TypeContent)
  /** Types that are still paused once it is calm are resumed then. */
  | { readonly do: 'pause-type' | 'resume-type'; readonly type: string }
  | { readonly do: 'withdraw'; readonly type: string; readonly forMs: number }
  | {
      readonly do: 'stop-worker'
      readonly workerId: string
      readonly drainMs: number
      readonly backAfterMs: number
    }
  | { readonly do: 'kill-worker'; readonly workerId: string; readonly backAfterMs: number }
  | { readonly do: 'freeze-worker'; readonly workerId: string; readonly forMs: number }
  | { readonly do: 'resize-worker'; readonly workerId: string; readonly concurrency: number }
)
