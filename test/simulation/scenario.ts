import type { PartialOptions } from '../../shared/core/options.ts'
import type { Clean } from '../../shared/core/restart.ts'
import type { Status } from '../../shared/core/status.ts'
import type { PatchRequest } from '../../shared/runtime/operate-task.ts'
import type { PublishRequest } from '../../shared/runtime/publication-of.ts'

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
  readonly workers: readonly WorkerSetup[]
  readonly steps: readonly Step[]
  /** How long to go on after everything has settled, to see that nothing goes round in circles. */
  readonly afterwardsMs: number
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
}

/** Who serves a type. */
export type ServedBy = 'lambda' | 'workers' | 'http'

export type TypeSetup = {
  readonly type: string
  readonly servedBy: ServedBy
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

/** What a handler does in one run. */
export type Act = {
  readonly ms: number
  readonly end: 'succeed' | 'fail' | 'fatal' | 'later' | 'release' | 'crash' | 'hang' | 'deaf' | 'child'
}

/** What somebody does from outside at a time. */
export type Step = { readonly at: number } & (
  | {
      readonly do: 'publish'
      /** Its input is `nonce`, `acts` and `padding`. */
      readonly request: Omit<PublishRequest, 'input'> & { readonly key: string }
      /** Tells the input of one step from that of another. */
      readonly nonce: number
      readonly acts: readonly Act[]
      /** Characters that make input and result large enough to be kept apart from the head. */
      readonly padding: number
    }
  | { readonly do: 'cancel' | 'remove' | 'read'; readonly id: string }
  | { readonly do: 'list'; readonly type: string; readonly status: Status }
  | { readonly do: 'restart'; readonly id: string; readonly clean: Clean }
  | { readonly do: 'patch'; readonly id: string; readonly changes: PatchRequest }
  | {
      readonly do: 'deploy'
      readonly type: string
      readonly kind: 'handler' | 'http'
      readonly defaults: PartialOptions
      readonly shards: number
    }
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
