import type { FlowSetup, TypeSetup, WorkerSetup } from '../scenario.ts'

/** The types, flows, workers and features of a scenario, which its steps refer to. */
export type Cast = {
  readonly types: readonly TypeSetup[]
  readonly flows: readonly FlowSetup[]
  readonly workers: readonly WorkerSetup[]
  readonly spanMs: number
  /** Whether some tasks are due further ahead than an SQS delay reaches (15 minutes). */
  readonly isFar: boolean
  /** Whether operators and machine faults leave the system alone. */
  readonly isCalm: boolean
  /** Whether tasks have stages or callbacks, belong to canvases, or are purged. */
  readonly has: Readonly<Record<Feature, boolean>>
  /** Returns a nonce that no other job has. */
  nextNonce(): number
}

type Feature = 'stages' | 'callbacks' | 'canvases' | 'purges'

/** The nonces of jobs are larger than this. The nonces of publishes are smaller. */
export const FIRST_JOB_NONCE = 100
