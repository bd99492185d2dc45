import type { FinishMember } from '../api/runs.ts'
import type { Json } from '../core/json.ts'
import type { Outcome } from '../core/run/run.ts'

/** A run that this worker holds. */
export type HeldRun = {
  readonly taskId: string
  readonly runId: string
  readonly fence: number
  readonly heartbeatMs: number
  readonly leaseMs: number
  /** Aborts the handler. The API has said that the run is over, or the lease has ended without an answer. */
  abort(reason: string): void
}

/** A held run with its next heartbeat and the end of its lease, in monotonic time, and with what is to be reported. */
export type RunEntry = HeldRun & {
  beatAt: number
  heartbeatMs: number
  leaseUntil: number
  progress?: Json
  end?: { member: FinishMember; done(): void }
}

/** The share of a lease that may pass between two heartbeats, so that one late heartbeat costs no run. */
const BEAT_SHARE_MAX = 2 / 3

export function intervalOf({ heartbeatMs, leaseMs }: Pick<HeldRun, 'heartbeatMs' | 'leaseMs'>): number {
  return Math.min(heartbeatMs, Math.floor(leaseMs * BEAT_SHARE_MAX))
}

/** The report of a run's end. */
export function endOf({ taskId, runId, fence }: HeldRun, outcome: Outcome): FinishMember {
  return { taskId, runId, fence, ...outcome } as FinishMember
}

/** The end of a run whose result the API refuses: it fails for good, because another run would have the same result. */
export function refusedResult(run: HeldRun, message: string): FinishMember {
  return endOf(run, { outcome: 'fail', fatal: true, error: { name: 'InvalidResult', message } })
}
