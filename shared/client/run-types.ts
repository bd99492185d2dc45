import type { Json } from '../core/json.ts'
import type { RunGone } from '../core/run/run.ts'
import type { EndedRunState, TaskError } from '../core/task/task.ts'
import type { ApiOptions, ApiRun, ApiTask, Problem } from './api-types.ts'

/** What workers say and are told over HTTP; see `api-types.ts`. */

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
export type SucceedBody = {
  readonly fence: number
  readonly result?: Json
  /** Moves the task to another stage instead of finishing it. */
  readonly next?: NextBody
}
type NextBody = {
  readonly stage: string
  readonly input?: Json
  readonly priority?: number
  readonly delayMs?: number
}
export type FailBody = {
  readonly fence: number
  readonly error: TaskError
  readonly fatal?: boolean
  readonly retryInMs?: number
  /** The last that the run logged, at most 4,096 bytes in UTF-8. It is shown with the failed run. */
  readonly log?: string
}
export type ReleaseBody = { readonly fence: number; readonly delayMs?: number }

export type RunName = { readonly taskId: string; readonly runId: string }
export type FinishMember = RunName &
  (
    | ({ readonly outcome: 'succeed' } & SucceedBody)
    | ({ readonly outcome: 'fail' } & FailBody)
    | ({ readonly outcome: 'release' } & ReleaseBody)
  )

export type Claim = {
  readonly task: ApiTask
  readonly run: {
    readonly id: string
    readonly fence: number
    readonly leaseUntil: string
    readonly idempotencyKey: string
  }
}

export type ClaimsAnswer = {
  readonly claims: readonly Claim[]
  /** The worker has waited in vain: it is to ask again after so many milliseconds. */
  readonly retryAfterMs?: number
}

export type HeartbeatAnswer = { readonly leaseUntil: string; readonly options: ApiOptions }

/** What is stored of a run that has ended, as its task shows it. */
export type RunEnd = {
  readonly state: EndedRunState
  readonly endedAt: string
} & Pick<ApiRun, 'result' | 'error' | 'stage'>

/** One run's part of a batch: what the single call would have answered. */
export type RunResult = RunName & {
  readonly status: number
  readonly reason?: RunGone
  readonly holder?: string
  readonly problem?: Problem
}
