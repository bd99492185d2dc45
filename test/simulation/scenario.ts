import type { Composition } from '../../shared/core/canvas/shape.ts'
import type { ResumeAction } from '../../shared/core/flow/resume.ts'
import type { Clean } from '../../shared/core/operate/restart.ts'
import type { PartialOptions } from '../../shared/core/options/options.ts'
import type { Status } from '../../shared/core/task/lifecycle.ts'
import type { Missed, Timing } from '../../shared/core/task/schedule-state.ts'
import type { Ordering } from '../../shared/core/task/task.ts'
import type { StepConfiguration, TypeLimits } from '../../shared/core/types/task-type.ts'
import type { PatchRequest } from '../../shared/runtime/operate/operate.ts'
import type { PublishRequest } from '../../shared/runtime/publish/publication-of.ts'

/**
 * Everything that a simulated run consists of, as data: the same scenario always plays the same way, and a part can be
 * taken out to see whether a fault still shows without it. Times are milliseconds from the start.
 */
export type Scenario = {
  readonly seed: number
  /** What may go wrong by chance until `calmAt`. */
  readonly weather: Weather
  /** From here on nothing goes wrong by chance any more, and everything must settle. */
  readonly calmAt: number
  readonly types: readonly TypeSetup[]
  /** Served by the types of their steps. */
  readonly flows: readonly FlowSetup[]
  readonly workers: readonly WorkerSetup[]
  readonly steps: readonly Step[]
  /** How long to go on after everything has settled, to see that nothing goes round in circles. */
  readonly afterwardsMs: number
  /** The trial that it was drawn as; most are none. */
  readonly trial?: TrialName
  readonly outages?: readonly Outage[]
  readonly lost?: Lost
  readonly conditions?: Conditions
}

/** What a few scenarios are about, each drawn on its own; `generate/trials` has them. */
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

/** The services that can be out, each by itself; `functions` stands for all invocations of Lambda functions. */
export type Service = 'table' | 'queues' | 'scheduler' | 'functions'

/** One service answers no call from `from` on for so long. All outages are over by `calmAt`. */
export type Outage = { readonly service: Service; readonly from: number; readonly ms: number }

/**
 * One thing of a kind is lost, the nth one of the run: a message of any queue, a batch of the stream, the schedule of a
 * far minute, or a round of the sweeper.
 */
export type Lost = { readonly what: 'message' | 'batch' | 'minute' | 'round'; readonly nth: number }

/** How the world is, whether or not anything goes wrong. */
export type Conditions = {
  /** Invocations of the waker that its queue makes at once. @default 50 */
  readonly wakers?: number
  /** Invocations that the queue of each Lambda makes at once. @default 20 */
  readonly executors?: number
  /** Index pages end after so many entries. A round of the sweeper reads a number of pages, so that it reads fewer tasks. */
  readonly pageMax?: number
  /** Expired heads are deleted, at the latest so long after their expiry. @default never */
  readonly ttlLagMs?: number
}

/** Shares, 0 to 1, of the events that go wrong, and how far clocks may be off. */
export type Weather = {
  /** Calls that are refused before they do anything: throttling, an outage. */
  readonly refused: number
  /** Calls that take effect, but are answered with an error. */
  readonly answerLost: number
  /** Calls that take seconds. */
  readonly slow: number
  /** Calls during which their process dies, before or after their effect. */
  readonly death: number
  /** Calls during which their process stops for up to 40 s, and then goes on. */
  readonly freeze: number
  readonly messageLost: number
  readonly messageDoubled: number
  readonly messageLate: number
  /** Batches of the stream that are never delivered. */
  readonly streamGap: number
  /** Shards of the stream that fall behind by up to a minute. */
  readonly streamLate: number
  /** Batches of the stream that are delivered again later. */
  readonly streamAgain: number
  /** Index entries that show only seconds later. */
  readonly staleIndex: number
  /** Schedules that fire late, twice, or not at all. */
  readonly scheduleOff: number
  /** Clocks are wrong by up to this, either way, in milliseconds. */
  readonly skewMs: number
  /** Each clock jumps every few seconds, and is wrong by up to this, either way, until its next jump. */
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

/** Who serves a type. */
export type ServedBy = 'lambda' | 'workers' | 'http'

export type TypeSetup = {
  readonly type: string
  readonly servedBy: ServedBy
} & TypeContent

/** What is set of a type. */
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
  /** When it starts for the first time. */
  readonly startsAt: number
}

/** What a handler does in one run; `next` moves the task to another stage. */
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
  /** The run goes on until this time of the scenario, if that is later than `ms` after its beginning. */
  readonly until?: number
  /** What a handler that ends by `later`, `release` or `next` gives as the delay. */
  readonly delay?: OddNumber
  /** The next stage is given an input of this shop. */
  readonly shop?: string
  /** What a worker over HTTP says of its run after it has been told that the run is over. */
  readonly repeats?: readonly RepeatedReport[]
}

/** A word of the same end and number as another says the same; that of the act itself has the number 0. */
export type RepeatedReport = { readonly end: Act['end']; readonly nth: number }

/** Numbers that handlers come up with by mistake, by name, since JSON has no words for some of them. */
export type OddNumber = 'NaN' | 'Infinity' | '-Infinity' | '-5' | '1e300' | '9007199254740991'

/** What the runs of a task do. */
export type Script = {
  /** Tells one publish from another. */
  readonly nonce: number
  /** Of a task that is in no stage and no flow. */
  readonly acts: readonly Act[]
  /** Of each stage, and of each step as `one` or `undo one`. */
  readonly pieces?: Readonly<Record<string, readonly Act[]>>
  /** Characters that make input and result large enough to be kept apart from the head. */
  readonly padding: number
  /** A field of the input by which limits can count it. */
  readonly shop?: string
}

/** A task that another's end, or a canvas, publishes. */
export type Job = Script &
  Callbacks & {
    readonly type: string
    readonly options?: PartialOptions
    readonly delayMs?: number
    readonly stage?: string
    readonly immutable?: true
    /** Its input is an array, which takes what is handed on. */
    readonly isList?: true
  }

export type Callbacks = { readonly onSuccess?: readonly Job[]; readonly onError?: readonly Job[] }

/** What somebody does from outside at a time. */
export type Step = { readonly at: number } & (
  | ({
      readonly do: 'publish'
      readonly request: Omit<PublishRequest, 'input' | keyof Callbacks> & { readonly key: string }
    } & Script &
      Callbacks)
  /** The same key always means the same composition. */
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
  /** Of the timing, `at` counts from the start. */
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
  /** Somebody tries these in turn until one is accepted. */
  | { readonly do: 'resume'; readonly id: string; readonly actions: readonly ResumeAction[] }
  | { readonly do: 'deploy-flow'; readonly flow: FlowSetup }
  | { readonly do: 'cancel' | 'remove' | 'read'; readonly id: string }
  | { readonly do: 'list'; readonly type: string; readonly status: Status }
  | { readonly do: 'purge'; readonly type: string; readonly statuses: readonly Status[] }
  | { readonly do: 'restart'; readonly id: string; readonly clean: Clean }
  | { readonly do: 'patch'; readonly id: string; readonly changes: PatchRequest }
  /** The same, by a deployment and by the API. */
  | ({
      readonly do: 'deploy' | 'put-type'
      readonly type: string
      readonly kind: 'handler' | 'http'
    } & TypeContent)
  /** What is paused in the end is resumed once it is calm. */
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
