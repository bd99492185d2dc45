import { type BodyWrite, type Decision, type Lease, refuse, revise } from '../change/change.ts'
import { endRuns, runRecord } from '../change/end-runs.ts'
import type { LiveRun } from '../task/runs.ts'
import { liveRuns, type Task } from '../task/task.ts'
import { failureCounted } from './judge-budget.ts'

/**
 * Lost runs that one write records. An update expression has at most 4 KB, and each lost run takes some 50 characters. The next
 * look takes the rest.
 */
export const LOST_RUNS_PER_WRITE_MAX = 40

export function leaseEnded(run: LiveRun, now: number): boolean {
  return run.leaseUntil <= now
}

/**
 * Records the runs whose lease has ended as lost. Each counts against the retry budget, and the task is claimable at once. The
 * guard names each judged lease, so a heartbeat that lands in between wins.
 */
export function lose(task: Task, now: number): Decision<'nothing-lost'> {
  const expired = liveRuns(task)
    .filter(run => leaseEnded(run, now))
    .slice(0, LOST_RUNS_PER_WRITE_MAX)
  if (task.state !== 'open' || expired.length === 0) return refuse('nothing-lost')
  const { draft, bodies } = endLost(task, expired, now)
  return revise(task, draft, now, { leases: expired.map(leaseOf), bodies })
}

export function leaseOf({ fence, leaseUntil }: LiveRun): Lease {
  return { fence, leaseUntil }
}

/** The draft in which `runs` are lost, and their records. */
export function endLost(
  task: Task,
  runs: readonly LiveRun[],
  now: number,
): { draft: Task; bodies: BodyWrite[] } {
  let draft: Task = { ...task, operation: 'lose' }
  const bodies: BodyWrite[] = []
  for (const run of runs) {
    // The loss of an earlier run has ended the piece that both worked on.
    if (!draft.live[run.fence]) continue
    const ending = {
      state: 'lost' as const,
      error: { name: 'LeaseLost', message: `${run.workerId} sent no heartbeat` },
    }
    bodies.push(...runRecord(draft, run.fence, ending, now))
    draft = { ...draft, ...endRuns(draft, [String(run.fence)], ending, now) }
    if (draft.state === 'open') draft = failureCounted(draft, run.workerId, ending.error, now)
  }
  return { draft, bodies }
}
