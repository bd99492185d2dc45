/**
 * Requests and answers of the HTTP API, as they are in JSON. Times are ISO 8601 in UTC; durations are milliseconds in
 * fields that end in `Ms`. The API's own schemas are held against these types by a test.
 */
import type { FieldProblem } from '../core/errors.ts'
import type { BatonEvent } from '../core/events/event-types.ts'
import type { Json } from '../core/json.ts'
import type { Backoff } from '../core/options/options.ts'
import type { RunGone } from '../core/run/run.ts'
import type { StatusReason } from '../core/status/status.ts'
import type { Status } from '../core/task/lifecycle.ts'
import type { EndedRunState, Ordering, RunState, TaskError, TypeKind } from '../core/task/task.ts'
import type { ApiStep, StepBody } from './flow-types.ts'
import type { RunEnd } from './run-types.ts'

export type RetryBody = {
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
export type OptionsBody = {
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
  /** The stage it begins in. */
  readonly stage?: string
  /** Published once when the task has succeeded, or failed; they inherit its user and trace. */
  readonly onSuccess?: readonly CallbackBody[]
  readonly onError?: readonly CallbackBody[]
  /** Takes nothing that the task before it hands on. */
  readonly immutable?: boolean
  /** Whose task it is: those of different keys take turns. */
  readonly fairnessKey?: string
  /** Runs `ms` after the last publish of its key, at the latest `maxWaitMs` after the first; the last one counts. */
  readonly debounce?: { readonly ms: number; readonly maxWaitMs?: number }
  /** Of those published with one key at most one in any `perMs` begins; the first one counts. */
  readonly throttle?: { readonly perMs: number }
}

/** A task that another one, a canvas or a schedule brings about: it says nothing of how it meets earlier ones of its key. */
export type DerivedBody = Omit<PublishBody, 'ifExists' | 'clean' | 'debounce' | 'throttle'>

/** Its key is made up from the task whose end it follows, unless it has one. */
export type CallbackBody = DerivedBody

export type RetryTaskBody = {
  readonly action?: 'restart' | 'retry-do' | 'retry-undo' | 'skip-undo' | 'continue' | 'retry-callbacks'
  readonly clean?: CleanBody
}

type WebhookBody = {
  readonly url?: string
  readonly timeoutMs?: number
  readonly secretName?: string
  readonly allowPrivate?: boolean
}

/** With `key` (an input field, `userId` or `fairnessKey`) each of its values is limited by itself. */
type LimitsBody = {
  /** At most `limit` starts in any `perMs`. */
  readonly rate?: { readonly limit: number; readonly perMs: number; readonly key?: string }
  /** At most `max` runs at a time. */
  readonly concurrency?: { readonly max: number; readonly key?: string }
}

export type TypeBody = {
  readonly kind: TypeKind
  readonly defaults?: OptionsBody & { readonly priority?: number }
  readonly ordering?: Ordering
  readonly limits?: LimitsBody
  readonly shards?: number
  /** Whether what happens to its tasks is told as events. */
  readonly events?: boolean
  readonly webhook?: WebhookBody
  /** Of kind `flow`. */
  readonly steps?: readonly StepBody[]
  readonly onCancel?: 'undo' | 'leave'
}

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
  /** How the run ended, where that is on record, without stack and without a result that is kept apart. */
  readonly run?: RunEnd
  /** When to try again, in milliseconds. */
  readonly retryAfterMs?: number
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
  /** Of a failed run: the last that its handler logged, at most 4 KB. Only `GET` of the task shows it. */
  readonly log?: string
  /** The stage it worked on; of a flow the step, as `reserve` or `undo reserve`. */
  readonly stage?: string
}

export type ApiHistoryEntry = {
  readonly traceId?: string
  readonly stage?: string
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
  readonly fairnessKey?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly input?: Json
  readonly result?: Json
  readonly error?: TaskError
  readonly concurrency: number
  readonly stage?: string
  readonly runs: readonly ApiRun[]
  /** Of a flow, as are the next three: its steps, and the zero-based index of the one reached. */
  readonly steps?: readonly ApiStep[]
  readonly cursor?: number
  /** Its input, and the results of its steps under their names. */
  readonly params?: Readonly<Record<string, Json>>
  /** An undo has failed for good, or a callback that is owed cannot be published: a person has to decide. */
  readonly needsAttention?: true
  /** Why callbacks that are owed cannot be published as types are now. */
  readonly callbackProblems?: readonly FieldProblem[]
  /** Of an open flow: the step to work on, the type that does or undoes it, and which of the two. */
  readonly step?: string
  readonly stepType?: string
  readonly direction?: 'do' | 'undo'
  /** What the task before handed on. */
  readonly previous?: Json
  /** The list handed on is too long to be shown, and `…/previous` gives it in pages. A claim's `input` is without it. */
  readonly previousPaged?: true
  /** Of a claim: the input is the same as `params`, and both are too long for one answer. */
  readonly inputIsParams?: true
  readonly canvasId?: string
  /** The task that published it, by its end or from its handler, or that ran when it was published, debounced. */
  readonly parentId?: string
  readonly attempts: { readonly used: number; readonly left: number }
  readonly history: readonly ApiHistoryEntry[]
  readonly traceId?: string
  readonly createdAt: string
  readonly startedAt?: string
  readonly updatedAt: string
  readonly finishedAt?: string
  readonly expiresAt?: string
  /** The last ten changes asked for over the HTTP API, oldest first. */
  readonly operations?: readonly ApiOperation[]
  readonly options: ApiOptions
  /** What is left out, wholly or in part, because the answer would be too long. Results of runs are missing from the oldest on. */
  readonly omitted?: readonly OmittedPart[]
}

/** A change by a person: `by` is an IAM principal, the subject of a token, or the local user as `local:NAME`. */
export type ApiOperation = { readonly at: string; readonly by: string; readonly what: string }

export type OmittedPart = 'runs.result' | 'params' | 'steps.result' | 'previous'

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
  readonly limits?: LimitsBody
  readonly shards: number
  readonly events: boolean
  readonly webhook?: WebhookBody
  readonly steps?: readonly StepBody[]
  readonly onCancel?: 'undo' | 'leave'
  readonly paused: boolean
  /** Since when a deployed handler serves the type. */
  readonly handlerSince?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly operations?: readonly ApiOperation[]
  /** What of its configuration is slow or expensive at scale; left out where nothing is. */
  readonly warnings?: readonly string[]
}

/** Something that has happened. Told twice it has the same id. */
export type ApiEvent = Omit<BatonEvent, 'at'> & { readonly at: string }

export type Counts = Readonly<Record<Status, number>>

export type ListFilter = {
  readonly type?: string
  readonly canvasId?: string
  readonly userId?: string
  readonly status?: readonly Status[]
  readonly order?: 'due' | '-due' | 'created' | '-created' | 'ended' | '-ended'
  readonly limit?: number
  readonly cursor?: string
}
