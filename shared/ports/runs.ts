import type { DerivedBody } from '../api/publish.ts'
import type { Outcome, RunGone } from '../core/run/run.ts'
import type { TaskError } from '../core/task-error/task-error.ts'
import type { WebhookSettings } from '../core/types/task-type.ts'
import type { Json } from '../core/values/values.ts'

/**
 * Port: what a run needs of the world. Two keepers implement it. `runtime/run/keep-in-table.ts` keeps a run in the table itself, for
 * functions and for workers of queues. `worker/http/http-worker.ts` keeps it by requests to the API.
 */

/** A run that its worker holds. `Claim` is what the claim of its task returned, as hooks see it. */
export type KeptRun<Claim = unknown> = {
  readonly claim: Claim
  readonly facts: RunFacts
  readonly rules: RunRules
  /**
   * Renews the lease. Calls `lose` when the run is gone, or when the lease has ended without an answer of the keeper's store.
   *
   * `over` aborts when the handler is stopped or the run has ended. The keeper in the table sends no heartbeat after it, because it
   * writes the end at once, and resolves when no heartbeat is in progress any more. The keeper over HTTP resolves at once and
   * ignores `over`: a report may wait for its batch, so the lease is renewed until the end is accepted or the run is forgotten.
   */
  hold(lose: (why: RunLost) => void, over: AbortSignal): Promise<void>
  /** After a process was asleep, its handler may resume before the timers that watch the lease. */
  hasLeaseEnded(): boolean
  /**
   * Reads what the handler gets.
   *
   * @throws Fatal when it is no longer stored; BatonError `unavailable` when the store does not answer.
   */
  content(): Promise<RunContent>
  /** Stores the progress with the next heartbeat. */
  record(progress: Json): void
  /** Heartbeats store what this function returns, the newest log lines, if the task or the system asks for it. */
  follow(newestLines: () => string | undefined): void
  publish(publication: DerivedBody): Promise<Published>
  /**
   * Writes the end of the run. An outage repeats the write until the lease ends. Returns the end as it is stored, or `stopped` when another
   * process had ended the run.
   *
   * @throws the error of the outage when the lease has ended, and the error of a store that never accepts the end.
   */
  finish(outcome: Outcome): Promise<RunEnd>
  /** The worker is done with the run, whether or not its end was written. No heartbeat begins afterwards. */
  forget(): void
}

/** How a run ends. `stopped`: its worker has lost it, and writes nothing. */
export type RunEnd = Outcome | { readonly outcome: 'stopped'; readonly why: RunLost }

/** Why a worker has lost its run. `storage`: the lease ended while the table or the API did not answer. */
export type RunLost = RunGone | 'storage'

/** The part of a handler's context that the claim fixes. */
export type RunFacts = {
  readonly taskId: string
  readonly runId: string
  readonly type: string
  readonly key: string
  readonly attempt: number
  readonly fence: number
  readonly idempotencyKey: string
  readonly stage?: string
  readonly step?: string
  readonly direction?: 'do' | 'undo'
  readonly traceparent?: string
  readonly webhook?: WebhookSettings
}

/** The rules by which the worker itself repeats or ends the run. Times are by the wall clock. */
export type RunRules = {
  readonly localRetries: number
  readonly timeoutMs?: number | undefined
  readonly timeoutAt?: number | undefined
  /** The deadline of the task, and the error with which it fails then. */
  readonly deadline?: { readonly at: number; readonly error: TaskError } | undefined
  /** What a flow's parameters leave for the result, if that is less than any task may have. */
  readonly resultBytesMax?: number | undefined
}

/** What a handler gets of its task. The input contains what the task before handed on. */
export type RunContent = {
  readonly input?: Json
  /** For a flow: its input, and the result of each finished step under the step's name. */
  readonly params?: Readonly<Record<string, Json>>
  /** What the task before handed on. */
  readonly previous?: Json
}

/** `created` is false when the key already had a task. */
export type Published = { readonly id: string; readonly created: boolean }
