/**
 * Requests and answers of the HTTP API, as they are in JSON. Times are ISO 8601 in UTC; durations are milliseconds in
 * fields that end in `Ms`. The API's own schemas are held against these types by a test.
 */
import type { FieldProblem } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Backoff } from '../core/options.ts'
import type { RunGone } from '../core/run-gone.ts'
import type { Status, StatusReason } from '../core/status.ts'
import type { EndedRunState, Ordering, RunState, TaskError, TypeKind } from '../core/task.ts'

type RetryBody = {
  readonly maxRetries?: number
  readonly backoff?: Backoff
  readonly delayMs?: number
  readonly maxDelayMs?: number
  readonly delaysMs?: readonly number[]
  readonly jitter?: number
  readonly scope?: 'task' | 'worker'
  readonly localRetries?: number
}

/** What can be set per task, or as its type's default. */
type OptionsBody = {
  readonly concurrency?: number
  readonly workerIds?: readonly string[]
  readonly minWorkerVersion?: string
  readonly heartbeatMs?: number
  readonly leaseMs?: number
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly retentionMs?: number
  readonly retry?: RetryBody
}

type CleanBody = ReadonlyArray<'failed' | 'succeeded'>

export type PublishBody = OptionsBody & {
  readonly type: string
  readonly key?: string
  readonly input?: Json
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  /** This or `delayMs`; neither means now. */
  readonly dueAt?: string
  readonly delayMs?: number
  readonly priority?: number
  readonly ifExists?: 'keep' | 'update' | 'reject' | 'restart'
  readonly clean?: CleanBody
  readonly traceparent?: string
}

export type PatchBody = OptionsBody & {
  readonly priority?: number
  readonly dueAt?: string
  readonly delayMs?: number
  readonly input?: Json
  readonly tags?: Readonly<Record<string, string>>
}

export type RetryTaskBody = {
  readonly action?: 'restart' | 'retry-do' | 'retry-undo' | 'skip-undo' | 'continue'
  readonly clean?: CleanBody
}

type WebhookBody = {
  readonly url?: string
  readonly timeoutMs?: number
  readonly secretName?: string
  readonly allowPrivate?: boolean
}

export type TypeBody = {
  readonly kind: TypeKind
  readonly defaults?: OptionsBody & { readonly priority?: number }
  readonly ordering?: Ordering
  readonly shards?: number
  readonly webhook?: WebhookBody
}

export type ClaimsBody = {
  /** This or `types`. */
  readonly type?: string
  readonly types?: readonly string[]
  readonly workerId: string
  readonly limit?: number
  readonly workerVersion?: string
  readonly requestId?: string
  readonly waitMs?: number
}

export type HeartbeatBody = { readonly fence: number; readonly progress?: Json }
export type SucceedBody = { readonly fence: number; readonly result?: Json }
export type FailBody = {
  readonly fence: number
  readonly error: TaskError
  readonly fatal?: boolean
  readonly retryInMs?: number
}
export type ReleaseBody = { readonly fence: number; readonly delayMs?: number }

export type RunName = { readonly taskId: string; readonly runId: string }
export type FinishMember = RunName &
  (
    | ({ readonly outcome: 'succeed' } & SucceedBody)
    | ({ readonly outcome: 'fail' } & FailBody)
    | ({ readonly outcome: 'release' } & ReleaseBody)
  )

/** A problem document (RFC 9457). */
export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** What is wrong with which field of the request. */
  readonly errors?: readonly FieldProblem[]
  /** Why a run's word was refused, and which worker holds the task now. */
  readonly reason?: RunGone
  readonly holder?: string
  /** Finds the log lines of this request. */
  readonly requestId?: string
}

export type ApiRun = {
  readonly id: string
  readonly workerId: string
  readonly state: RunState
  readonly fence: number
  readonly startedAt: string
  readonly leaseUntil?: string
  readonly endedAt?: string
  readonly result?: Json
  readonly error?: TaskError
  readonly progress?: Json
}

export type ApiHistoryEntry = {
  readonly traceId?: string
  readonly startedAt: string
  readonly endedAt: string
  readonly costMs: number
  readonly outcome: EndedRunState
  readonly error?: TaskError
}

/** Options in force, defaults included. */
export type ApiOptions = Required<
  Omit<OptionsBody, 'retry' | 'minWorkerVersion' | 'timeoutMs' | 'deadlineMs'>
> &
  Pick<OptionsBody, 'minWorkerVersion' | 'timeoutMs' | 'deadlineMs'> & {
    readonly retry: Required<Omit<RetryBody, 'delaysMs'>> & Pick<RetryBody, 'delaysMs'>
  }

/**
 * A task. `GET` shows it with everything; answers to writes leave out input and results that are stored apart (some
 * hundred bytes and more), lists and batches leave out all of them.
 */
export type ApiTask = {
  readonly id: string
  readonly type: string
  readonly key: string
  readonly status: Status
  readonly statusReason?: StatusReason
  readonly dueAt: string
  readonly priority: number
  readonly userId?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly input?: Json
  readonly result?: Json
  readonly error?: TaskError
  readonly concurrency: number
  readonly runs: readonly ApiRun[]
  readonly attempts: { readonly used: number; readonly left: number }
  readonly history: readonly ApiHistoryEntry[]
  readonly traceId?: string
  readonly createdAt: string
  readonly startedAt?: string
  readonly updatedAt: string
  readonly finishedAt?: string
  readonly expiresAt?: string
  readonly options: ApiOptions
}

export type PublishAnswer = { readonly id: string; readonly created: boolean; readonly task: ApiTask }

export type PublishResult = {
  readonly status: number
  readonly id?: string
  readonly created?: boolean
  readonly task?: ApiTask
  readonly problem?: Problem
}

export type TaskAnswer = { readonly task: ApiTask }

export type Page<Item> = { readonly items: readonly Item[]; readonly nextCursor?: string }

export type ApiType = {
  readonly type: string
  readonly kind: TypeKind
  readonly defaults: OptionsBody & { readonly priority?: number }
  readonly ordering: Ordering
  readonly shards: number
  readonly webhook?: WebhookBody
  readonly paused: boolean
  /** Since when a deployed handler serves the type. */
  readonly handlerSince?: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** A live worker; those of Lambda are one per type, with no `lastSeen`. */
export type ApiWorker = {
  readonly id: string
  readonly kind: 'standalone' | 'http' | 'lambda'
  readonly version?: string
  readonly types: readonly string[]
  /** How many tasks it runs. */
  readonly running: number
  readonly lastSeen?: string
}

export type Counts = Readonly<Record<Status, number>>

export type Claim = {
  readonly task: ApiTask
  readonly run: {
    readonly id: string
    readonly fence: number
    readonly leaseUntil: string
    readonly idempotencyKey: string
  }
}

export type ClaimsAnswer = { readonly claims: readonly Claim[] }

export type HeartbeatAnswer = { readonly leaseUntil: string; readonly options: ApiOptions }

/** One run's part of a batch: what the single call would have answered. */
export type RunResult = RunName & {
  readonly status: number
  readonly reason?: RunGone
  readonly holder?: string
  readonly problem?: Problem
}

export type ListFilter = {
  readonly type?: string
  readonly userId?: string
  readonly status?: readonly Status[]
  readonly order?: 'due' | '-due' | 'created' | '-created'
  readonly limit?: number
  readonly cursor?: string
}
