import { isComplete } from '../../../../shared/core/run/finish.ts'
import { endedRuns, liveRuns, successes } from '../../../../shared/core/task/task.ts'
import { versionSuffices } from '../../../../shared/core/worker.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn, endsOf, opensPiece } from '../pieces.ts'

/** Promises about runs: which workers get them, and what they cost. */
export const RUN_INVARIANTS: readonly Invariant[] = [
  {
    name: 'only an allowed worker claims',
    watch: ({ workers }) => {
      const versions = new Map(workers.map(({ workerId, version }) => [workerId, version]))
      return {
        on: event => {
          const run = claimIn(event)
          if (!run) return undefined
          const { before, after } = event as Write
          const { workerIds, minWorkerVersion } = after.options
          if (workerIds.length > 0 && !workerIds.includes(run.workerId))
            return `${run.workerId} claimed ${after.id}, which lists ${workerIds}`
          if (!versionSuffices(versions.get(run.workerId), minWorkerVersion))
            return `${run.workerId} is too old for ${after.id}`
          const hasSucceeded =
            before &&
            before.born === after.born &&
            successes(before).some(({ workerId }) => workerId === run.workerId)
          return hasSucceeded ? `${run.workerId} claimed ${after.id} again after its success` : undefined
        },
      }
    },
  },
  {
    name: 'every failed or lost run costs one retry, and no other run does',
    watch: () => {
      const costs = new Map<string, number>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const birth = `${after.id} ${after.born}`
          const isFresh = opensPiece(before, after)
          const spent = isFresh
            ? 0
            : (costs.get(birth) ?? 0) + endedNow(before, after).filter(isCostly).length
          costs.set(birth, spent)
          // A resumed flow may end by that write. Its failures then belong to the piece before.
          const isOver = after.state === 'removed' || ['expire', 'settle'].includes(after.operation)
          if (isOver || before?.state === 'failed' || after.failures === spent) return undefined
          return `${after.operation} left ${after.id} with ${after.failures} failures after ${spent} failed and lost runs`
        },
      }
    },
  },
  {
    name: 'no run begins once the retry budget is spent',
    watch: () => ({
      on: event => {
        const run = claimIn(event)
        if (!run) return undefined
        const { after } = event as Write
        const { retry } = after.options
        const spent = retry.scope === 'task' ? after.failures : (after.failuresBy[run.workerId] ?? 0)
        return spent > retry.maxRetries
          ? `${after.id} was claimed after ${spent} failures of ${retry.maxRetries} retries`
          : undefined
      },
    }),
  },
  {
    name: 'a run that disappears from the head has a recorded end',
    watch: () => ({
      on: event => {
        if (event.what !== 'write') return undefined
        const { before, after } = event
        if (!before || before.born !== after.born || after.state === 'removed') return undefined
        const ends = endsOf(after)
        const missing = liveRuns(before).find(({ fence }) => !after.live[fence] && !ends[fence])
        return missing && `run ${missing.fence} of ${after.id} disappeared without an end`
      },
    }),
  },
  {
    name: 'a task has succeeded exactly when as many different workers succeeded as it asks for',
    watch: () => ({
      atEnd: heads => {
        const complete = heads.find(isComplete)
        return complete && `${complete.id} has all its successes, and nothing has written its end`
      },
      on: event => (event.what === 'write' ? wrongSuccess(event) : undefined),
    }),
  },
]

/**
 * The runs that a write ended: those that were live before, or the run of a refused claim, which begins and
 * ends in one write.
 */
function endedNow(before: SeenHead | undefined, after: SeenHead) {
  if (!before || before.born !== after.born) return []
  const isNew = (fence: number) => fence === before.fence + 1 && after.operation === 'fail'
  return endedRuns(after).filter(({ fence }) => before.live[fence] || isNew(fence))
}

function isCostly({ state }: { readonly state: string }): boolean {
  return state === 'failed' || state === 'lost'
}

/** How the successes of a task contradict its state after a write. */
function wrongSuccess({ before, after }: Write): string | undefined {
  if (after.state === 'removed') return undefined
  const workers = new Set(successes(after).map(({ workerId }) => workerId))
  const isEnough = workers.size >= after.options.concurrency
  if (workers.size < successes(after).length) return `one worker succeeded twice on ${after.id}`
  const isRun = !after.flow && !after.canvas && !after.schedule
  const counts = `${workers.size} of ${after.options.concurrency}`
  if (after.state === 'succeeded' && !isEnough && isRun) return `${after.id} succeeded with ${counts}`
  // A success that is recorded next to other successes may be the last one. The next write must then be the end.
  const isCounted = after.operation === 'succeed' && before !== undefined && !isComplete(before)
  return after.state === 'open' && isEnough && !isCounted ? `${after.id} is open with ${counts}` : undefined
}
