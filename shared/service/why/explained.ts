import type { WhyFacts } from '../../core/status/why.ts'

/** The facts of a sentence, and the path of the task in the API, for the next step. */
export type SentenceFacts = WhyFacts & { readonly path: string }

/** The limit for which a task waits. */
export type WhyLimit = {
  readonly kind: 'rate' | 'concurrency'
  readonly name: string
  readonly max?: number
  readonly perMs?: number
  readonly held?: number
  /** The holders of permits, longest first. */
  readonly holders?: ReadonlyArray<{ readonly taskId: string; readonly since: number }>
}

/** The sentence about a task, what a caller can do, and the facts in it. Times are milliseconds since the epoch. */
export type Explained = {
  readonly sentence: string
  readonly next: string
  readonly since?: number
  readonly until?: number
  readonly limit?: WhyLimit
  readonly holder?: string
  readonly queue?: {
    readonly type: string
    readonly messages?: number
    readonly oldestDueAt?: number
    readonly before?: number
  }
  readonly lastWorkerSeenAt?: number
  readonly log?: string
  readonly deadLetterId?: string
}
