import { type EndedRun, endedRuns, liveRuns, successes } from '../../../shared/core/task/task.ts'
import type { SeenHead } from '../world/seen-head.ts'
import { type Invariant, onEachWrite } from './invariant.ts'

/** Operations that may forget ended runs. */
const FORGETTING = ['restart', 'resume', 'publish', 'update', 'remove']
const KEPT_RUNS = 5

/** Promises that each single write must keep. */
export const WRITE_INVARIANTS: readonly Invariant[] = [
  onEachWrite('no worker has two live runs of one task', ({ after }) => {
    const workers = liveRuns(after).map(({ workerId }) => workerId)
    const duplicate = workers.find((workerId, index) => workers.indexOf(workerId) < index)
    return duplicate && `${duplicate} holds two runs of ${after.id}`
  }),
  onEachWrite('fences and revisions grow with each claim and write', ({ before, after }) => {
    if (!before) return undefined
    const isBeat = after.operation === 'beat'
    if (after.fence < before.fence)
      return `the fence of ${after.id} fell from ${before.fence} to ${after.fence}`
    if (after.revision !== before.revision + (isBeat ? 0 : 1)) {
      return `${after.operation} took ${after.id} from revision ${before.revision} to ${after.revision}`
    }
    const isNewRun = liveRuns(after).find(({ fence }) => !before.live[fence])
    return isNewRun && isNewRun.fence <= before.fence
      ? `${after.id} used fence ${isNewRun.fence} again`
      : undefined
  }),
  onEachWrite('no claim exceeds the successes that the task asks for', ({ before, after }) => {
    const taken = successes(after).length + liveRuns(after).length
    const wasTaken = before ? successes(before).length + liveRuns(before).length : 0
    const isMore = after.operation === 'claim' && taken > after.options.concurrency && taken > wasTaken
    return isMore ? `${after.id} has ${taken} runs and successes for ${after.options.concurrency}` : undefined
  }),
  onEachWrite('a run that has ended never changes again', ({ before, after }) => {
    if (!before || before.born !== after.born) return undefined
    const revived = liveRuns(after).find(({ fence }) => before.ended[fence])
    if (revived) return `run ${revived.fence} of ${after.id} is live again after its end`
    const isKnown = ({ fence }: EndedRun) => before.ended[fence] || before.live[fence]
    // When the store refuses a claim, its run begins and ends in one write.
    const isRefused = ({ fence, state }: EndedRun) => state === 'failed' && fence === before.fence + 1
    const unknown = endedRuns(after).find(run => !isKnown(run) && !isRefused(run))
    if (unknown) return `run ${unknown.fence} of ${after.id} ended again`
    const changed = endedRuns(before).find(({ fence, state }) => {
      const now = after.ended[fence]
      return now !== undefined && now.state !== state
    })
    return (
      changed &&
      `run ${changed.fence} of ${after.id} was ${changed.state}, then ${after.ended[changed.fence]?.state}`
    )
  }),
  onEachWrite(
    'a final status changes only by an explicit restart, resumption, publish or removal',
    ({ before, after }) => {
      if (!before || before.state === 'open' || before.state === after.state) return undefined
      const isExplicit = ['restart', 'resume', 'publish', 'remove'].includes(after.operation)
      return isExplicit
        ? undefined
        : `${after.operation} made ${after.id} ${after.state} though it was ${before.state}`
    },
  ),
  onEachWrite('a head keeps its last five runs without success', ({ before, after }) => {
    if (before?.born !== after.born || FORGETTING.includes(after.operation)) return undefined
    const others = ({ ended }: SeenHead) =>
      Object.values(ended).filter(({ state, past }) => state !== 'succeeded' || past)
    const [had, has] = [others(before), others(after)]
    const oldest = Math.min(...has.map(({ endedAt }) => endedAt))
    const forgotten = had.find(({ fence, endedAt }) => !after.ended[fence] && endedAt > oldest)
    if (forgotten) return `${after.id} forgets run ${forgotten.fence}, and keeps an older one`
    const ended = has.filter(({ fence }) => !before.ended[fence]).length
    const least = Math.min(KEPT_RUNS, had.length + ended)
    return has.length < least
      ? `${after.id} keeps ${has.length} runs without success, not ${least}`
      : undefined
  }),
  onEachWrite('no waiting task has spent its retries', ({ after }) => {
    const { retry, concurrency, workerIds } = after.options
    if (after.state !== 'open' || after.canvas || after.schedule) return undefined
    const most = retry.scope === 'task' ? retry.maxRetries : concurrency * (retry.maxRetries + 1) - 1
    const isListed = retry.scope === 'worker' && workerIds.length > 0
    return after.failures > most && !isListed
      ? `${after.id} is open after ${after.failures} failures, and may have ${most}`
      : undefined
  }),
  onEachWrite('every transition is in the table of the lifecycle', ({ before, after, isNotInLifecycle }) =>
    isNotInLifecycle ? `${after.operation} made ${after.id} ${after.state} from ${before?.state}` : undefined,
  ),
  onEachWrite('a publish replaces only a removed or expired task', ({ before, after, clock }) => {
    if (after.operation !== 'publish' || !before || before.state === 'removed') return undefined
    const isExpired = before.expiresAt !== undefined && before.expiresAt <= clock
    return isExpired ? undefined : `a publish replaced ${after.id}, which was ${before.state}`
  }),
  onEachWrite('only a publish creates a task, or the cancel of its canvas', ({ before, after }) => {
    const isBirth = after.operation === 'publish' || (after.operation === 'cancel' && after.member)
    return before || isBirth ? undefined : `${after.operation} creates ${after.id}`
  }),
  {
    name: 'no input is lost, and no handed-on result unless the task that handed it on was removed or restarted',
    watch: ({ steps }) => {
      const mayMiss = steps.some(
        step => step.do === 'purge' || (step.do === 'operate-member' && step.operation !== 'cancel'),
      )
      const isMissing = ({ error }: EndedRun) =>
        error?.message.includes('no longer stored') && !(mayMiss && error.message.includes('handed on'))
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const lost = endedRuns(after).find(run => before?.live[run.fence] && isMissing(run))
          return lost && `run ${lost.fence} of ${after.id} found no input`
        },
      }
    },
  },
  onEachWrite('no task is claimed before it is due by the claimer’s clock', ({ before, after, clock }) => {
    if (after.operation !== 'claim' || !before) return undefined
    return before.dueAt > clock ? `${after.id} was claimed ${before.dueAt - clock} ms early` : undefined
  }),
  onEachWrite('a run is lost only once its lease has ended', ({ before, after, clock }) => {
    const lost = endedRuns(after).filter(({ fence, state }) => state === 'lost' && before?.live[fence])
    const early = lost.find(({ fence }) => (before?.live[fence]?.leaseUntil ?? 0) > clock)
    return (
      early &&
      `run ${early.fence} of ${after.id} was recorded as lost ${(before?.live[early.fence]?.leaseUntil ?? 0) - clock} ms early`
    )
  }),
]
