import { endedRuns, liveRuns, successes, workersWanted } from '../../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn, hasOwnRetries, opensPiece, retryTimeOf } from '../pieces.ts'
import { createWaits } from '../waits.ts'
import { overdue } from './overdue.ts'

/** The delay of a look is rounded up to a whole second, and the look takes a few calls. */
const ANNOUNCED_WITHIN_MS = 3_000
/** What callers change may give the task a new due time, or other workers. */
const CHANGES_OF_CALLERS: readonly string[] = ['patch', 'update', 'publish', 'restart', 'remove']

/** Promises about workers that each have retries of their own: under retry scope `worker`, at tasks for several workers. */
export const OWN_RETRY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a worker with retries of its own does not begin before the time that its last failure gave it',
    watch: ({ trial, weather }) => {
      if (trial === 'reports') return {}
      const retries = createRetries()
      // The clock of another process may have found the time over.
      const toleranceMs = 2 * (weather.skewMs + weather.stepMs)
      return {
        on: event => {
          const run = claimIn(event)
          const { after, clock } = event as Write
          const early = run ? retries.timeOf(after, run.workerId) - toleranceMs - clock : 0
          retries.see(event)
          return run && early > 0
            ? `${run.workerId} began ${after.id} ${early} ms before its retry`
            : undefined
        },
      }
    },
  },
  {
    name: 'the failure of a worker with retries of its own delays no worker that may begin now',
    watch: () => ({
      on: event => {
        const failed = event.what === 'write' ? failedIn(event) : undefined
        if (!failed) return undefined
        const { before, after } = event as Write
        const isDelayed = after.dueAt > Math.max(before?.dueAt ?? 0, after.updatedAt)
        const free = isDelayed && freeWorker(after)
        return free
          ? `${after.id} is due for ${free} only ${after.dueAt - after.updatedAt} ms later`
          : undefined
      },
    }),
  },
  overdue('once it is calm, a worker’s own retry is announced within minutes of its time', ownRetryAt),
  {
    name: 'in calm weather a worker’s own retry is announced within three seconds of its time',
    watch: ({ weather, outages, lost, conditions }) => {
      const isDisturbed = Object.values(weather).some(share => share > 0)
      if (isDisturbed || outages || lost || conditions) return {}
      const waits = createWaits()
      return {
        on: event => {
          if (event.what === 'write') waits.set(event.after.id, ownRetryAt(event.after))
          return waits.late(event.at, ANNOUNCED_WITHIN_MS)
        },
      }
    },
  },
]

/** When the retry of a single worker must be announced. Its announcement or its claim drops the time from the head. */
function ownRetryAt(task: SeenHead): number | undefined {
  const times = Object.values(task.retryAtBy)
  const isAwaited = task.state === 'open' && task.wait === undefined && workersWanted(task) > 0
  return isAwaited && times.length > 0 ? Math.max(task.dueAt, Math.min(...times)) : undefined
}

/** When the retry of each worker is due that has retries of its own. */
function createRetries() {
  /** The delays that handlers have set, by task and fence. */
  const setByHandlers = new Map<string, number | undefined>()
  const times = new Map<string, number>()
  const seeWrite = (write: Write) => {
    const { before, after } = write
    const isOver = opensPiece(before, after) || CHANGES_OF_CALLERS.includes(after.operation)
    if (isOver) forget(times, after)
    times.delete(nameOf(after, claimIn(write)?.workerId))
    const failed = failedIn(write)
    if (!failed) return
    // A run over its timeout has failed by that, whatever its handler does afterwards.
    const hasTimedOut = failed.error?.name === 'TimedOut'
    const delayMs = hasTimedOut ? undefined : setByHandlers.get(`${after.id} ${failed.fence}`)
    const at = delayMs === undefined ? retryTimeOf(after, failed.workerId) : after.updatedAt + delayMs
    if (at !== undefined) times.set(nameOf(after, failed.workerId), at)
  }
  return {
    timeOf: (task: SeenHead, workerId: string) => times.get(nameOf(task, workerId)) ?? 0,
    see: (event: HistoryEvent) => {
      if (event.what === 'ended') setByHandlers.set(`${event.id} ${event.fence}`, event.retryInMs)
      if (event.what === 'write') seeWrite(event)
    },
  }
}

function nameOf({ id }: SeenHead, workerId = ''): string {
  return `${id} ${workerId}`
}

function forget(times: Map<string, number>, task: SeenHead): void {
  for (const name of times.keys()) if (name.startsWith(nameOf(task))) times.delete(name)
}

/** The run of a worker with retries of its own that this write failed by its report, while the task continues. */
function failedIn({ before, after }: Write) {
  if (!before || after.operation !== 'fail' || after.state !== 'open' || opensPiece(before, after))
    return undefined
  const failed = endedRuns(after).find(({ fence, state }) => before.live[fence] && state === 'failed')
  return failed && failed.cause === undefined && hasOwnRetries(after, failed.workerId) ? failed : undefined
}

/** A worker that has not failed and that the task waits for. A task without a list waits for any. */
function freeWorker(task: SeenHead): string | undefined {
  if (workersWanted(task) <= 0) return undefined
  const { workerIds } = task.options
  if (workerIds.length === 0) return 'any worker'
  const busy = [...liveRuns(task), ...successes(task)].map(({ workerId }) => workerId)
  return workerIds.find(id => !busy.includes(id) && task.failuresBy[id] === undefined)
}
