import type { FlowSetup, TypeSetup, WorkerSetup } from '../scenario.ts'

/** What a scenario has that steps can be about. */
export type Cast = {
  readonly types: readonly TypeSetup[]
  readonly flows: readonly FlowSetup[]
  readonly workers: readonly WorkerSetup[]
  readonly spanMs: number
  /** Some tasks are due farther ahead than a queue can delay. */
  readonly isFar: boolean
  /** Nobody disturbs anything from outside. */
  readonly isCalm: boolean
  /** Whether tasks go through stages, have callbacks, are composed to canvases, or are purged. */
  readonly has: Readonly<Record<Feature, boolean>>
  /** A nonce that no other job has. */
  nextNonce(): number
}

type Feature = 'stages' | 'callbacks' | 'canvases' | 'purges'

/** Jobs count on from here; publishes of the scenario are below. */
export const FIRST_JOB_NONCE = 100
