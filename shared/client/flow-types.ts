import type { Json } from '../core/json.ts'
import type { StepState } from '../core/task/flow-state.ts'
import type { TaskError } from '../core/task/task.ts'
import type { RetryBody } from './api-types.ts'

/** What the HTTP API says of flows; see `api-types.ts`. */

type StepActionBody = {
  readonly type: string
  readonly input?: Json
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly retry?: RetryBody
}

export type StepBody = { readonly name: string; readonly do: StepActionBody; readonly undo?: StepActionBody }

export type ApiStep = {
  readonly name: string
  readonly state: StepState
  readonly startedAt?: string
  readonly endedAt?: string
  readonly attempts: number
  readonly result?: Json
  readonly error?: TaskError
  readonly undo?: Pick<ApiStep, 'startedAt' | 'endedAt' | 'attempts' | 'error'>
}
