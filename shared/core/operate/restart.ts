import { type Decision, refuse, revise } from '../change/change.ts'
import { newborn, type Publication } from '../publish/publish.ts'
import { afterFirstEnd } from '../task/canvas-state.ts'
import { firstFence } from '../task/fence.ts'
import type { EndedRun } from '../task/runs.ts'
import { endedRuns, liveRuns, type Task } from '../task/task.ts'
import { defined } from '../values/defined.ts'

/** The kinds of runs that a restart drops. */
export type Clean = ReadonlyArray<'failed' | 'succeeded'>

/** Why a task is not restarted. `owes`: the callbacks of its end are not published yet, and a restart would lose them. */
export type RestartRefusal = 'running' | 'not-finished' | 'nothing-to-do' | 'owes'

/** How a restarted task begins: a fresh publication under a new birth. */
export type Restart = {
  readonly publication: Publication
  readonly clean: Clean
  /** Whether the task keeps its input, its stage, its callbacks and the value that was handed on to it. */
  readonly keepInput: boolean
  /** Whether a task that waits for its first or next run may be restarted, too. */
  readonly evenWaiting?: boolean
}

/**
 * Starts an ended task over under a new birth, so that no message about the old birth can change it. Successes still count unless
 * `clean` names them. The retry budget is fresh, and fences go on growing.
 */
export function restart(task: Task, how: Restart, now: number): Decision<RestartRefusal> {
  if (liveRuns(task).length > 0 || isAtWork(task)) return refuse('running')
  if (task.state === 'removed' || (task.state === 'open' && !how.evenWaiting)) return refuse('not-finished')
  if (task.owes) return refuse('owes')
  const kept = task.flow
    ? []
    : endedRuns(task).filter(run => !how.clean.includes(isSuccess(run) ? 'succeeded' : 'failed'))
  const keptSuccesses = kept.filter(isSuccess).length
  if (keptSuccesses >= how.publication.options.concurrency) return refuse('nothing-to-do')
  const start = {
    revision: task.revision + 1,
    fence: Math.max(task.fence, firstFence(now)),
    operation: 'restart' as const,
  }
  const { task: fresh, bodies } = newborn(how.publication, start, now)
  const draft: Task = {
    ...fresh,
    ended: Object.fromEntries(kept.map(run => [run.fence, run])),
    ...(how.keepInput && keptContent(task)),
    ...defined({
      operations: task.operations,
      causedBy: fresh.causedBy ?? task.causedBy,
      member: task.member && afterFirstEnd(task.member, task),
    }),
  }
  return revise(task, draft, now, { bodies })
}

/** Whether the task is an open flow with a step that has begun. A restart would skip the undo of that step. */
function isAtWork({ state, flow }: Task): boolean {
  return state === 'open' && Object.keys(flow?.steps ?? {}).length > 0
}

/** Whether the run is a success that still counts. A success of a stage that is over no longer counts. */
function isSuccess({ state, past }: EndedRun): boolean {
  return state === 'succeeded' && !past
}

function keptContent(task: Task): Partial<Task> {
  const { input, limitValues, stage, callbacks, previous, immutable, parentId } = task
  return defined({ input, limitValues, stage, callbacks, previous, immutable, parentId })
}
