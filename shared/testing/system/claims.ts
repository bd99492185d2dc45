import type { Claim } from '../../api/runs.ts'
import type { ApiTask } from '../../api/tasks.ts'
import { ProblemError } from '../../client/problem-error.ts'
import { defined } from '../../core/defined.ts'
import { BatonError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task/error.ts'
import { splitRunId } from '../../core/task/task.ts'
import { presentClaim } from '../../present/claims.ts'
import { problem } from '../../present/problems.ts'
import { runProblem, unknownType } from '../../present/refusal-problems.ts'
import { presentTask } from '../../present/tasks.ts'
import { claimOverHttp } from '../../runtime/claim/http-claims.ts'
import type { System } from '../../runtime/kernel/system.ts'
import type { StatusReaders } from '../../runtime/read/describe-task.ts'
import { describeHead } from '../../runtime/read/read.ts'
import { beatOverHttp, finishOverHttp, type RunReference } from '../../runtime/run/http-runs.ts'
import { createHttpWorkers } from '../../runtime/worker/announce-http-workers.ts'

export type ClaimOptions = {
  /** The worker that claims. @default 'test-worker' */
  readonly workerId?: string
  /** How many tasks it claims at most. @default 1 */
  readonly limit?: number
}

/** A task that the test has claimed as an HTTP worker does, and the words by which that worker reports. */
export type ClaimedRun = Claim & {
  /** Renews the lease. @throws ProblemError when the run is over */
  heartbeat(progress?: Json): Promise<void>
  /** Ends the run as a success. @throws ProblemError when the run is over */
  succeed(result?: Json): Promise<ApiTask>
  /** Ends the run as a failure. @throws ProblemError when the run is over */
  fail(error: TaskError, how?: { readonly fatal?: boolean; readonly retryInMs?: number }): Promise<ApiTask>
  /** Gives the task back. @throws ProblemError when the run is over */
  release(delayMs?: number): Promise<ApiTask>
}

/** The words of a worker, each of which an adapter sends. */
type RunWords = Omit<ClaimedRun, keyof Claim>

const DEFAULT_WORKER = 'test-worker'

/** Returns a function that claims tasks of a type of kind `http`. `exclusively` runs each call of a worker alone. */
export function createClaims(
  system: System,
  readers: StatusReaders,
  exclusively: <T>(call: () => Promise<T>) => Promise<T>,
): (type: string, options?: ClaimOptions) => Promise<ClaimedRun[]> {
  const workers = createHttpWorkers(system)
  const end = (reference: RunReference, runId: string, outcome: Outcome) =>
    exclusively(async () => {
      const ended = await finishOverHttp(system, reference, outcome)
      if (ended.ok) return presentTask(await describeHead(system, readers, ended.task))
      if (ended.reason === 'no-stages' || ended.reason === 'no-room') {
        throw new BatonError(
          'invalid',
          `the result of ${reference.taskId} is too long, or it is a flow and has no stages`,
        )
      }
      throw new ProblemError(runProblem(reference.taskId, runId, ended))
    })
  const words = ({ task, run }: Claim): RunWords => {
    const split = splitRunId(run.id)
    if (!split) throw new RangeError(`${run.id} is not a run id`)
    const reference = { taskId: task.id, ...split }
    return {
      heartbeat: progress =>
        exclusively(async () => {
          const beat = await beatOverHttp(system, reference, progress)
          if (!beat.ok) throw new ProblemError(runProblem(task.id, run.id, beat))
        }),
      succeed: result => end(reference, run.id, { outcome: 'succeed', ...defined({ result }) }),
      fail: (error, how = {}) =>
        end(reference, run.id, {
          outcome: 'fail',
          error,
          ...defined({ fatal: how.fatal || undefined, retryInMs: how.retryInMs }),
        }),
      release: delayMs => end(reference, run.id, { outcome: 'release', ...defined({ delayMs }) }),
    }
  }
  return async (type, { workerId = DEFAULT_WORKER, limit = 1 } = {}) => {
    const answer = await claimOverHttp(system, { types: [type], claimer: { workerId }, limit }, workers)
    if (!answer.ok && answer.reason === 'unknown-type') {
      throw new ProblemError(unknownType(answer.type, answer.existing, 'type'))
    }
    if (!answer.ok) {
      throw new ProblemError(
        problem('conflict', `${type} is served by its handler; only types of kind http can be claimed`),
      )
    }
    return Promise.all(
      answer.claims.map(async claimed => {
        const claim = presentClaim(claimed, await describeHead(system, readers, claimed.task))
        return { ...claim, ...words(claim) }
      }),
    )
  }
}
