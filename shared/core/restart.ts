import { type Decision, refuse, revise } from './change.ts'
import { newborn, type Publication } from './publish.ts'
import { endedRuns, liveRuns, type Task } from './task.ts'

/** Which runs a restart forgets. */
export type Clean = ReadonlyArray<'failed' | 'succeeded'>

export type RestartRefusal = 'running' | 'not-finished' | 'nothing-to-do'

/** How a restarted task begins: a fresh publication under a new birth. */
export type Restart = {
  readonly publication: Publication
  readonly clean: Clean
  readonly keepInput: boolean
  /** Whether a task that still waits for its first or next run may be started over, too. */
  readonly evenWaiting?: boolean
}

/**
 * Starts a finished task over under a new birth, so that nothing sent about the old one can touch it. Successes that
 * `clean` keeps go on counting; the retry budget is fresh and fences go on growing.
 */
export function restart(task: Task, how: Restart, now: number): Decision<RestartRefusal> {
  if (liveRuns(task).length > 0) return refuse('running')
  if (task.state === 'removed' || (task.state === 'open' && !how.evenWaiting)) return refuse('not-finished')
  const kept = endedRuns(task).filter(
    run => !how.clean.includes(run.state === 'succeeded' ? 'succeeded' : 'failed'),
  )
  const keptSuccesses = kept.filter(run => run.state === 'succeeded').length
  if (keptSuccesses >= how.publication.options.concurrency) return refuse('nothing-to-do')
  const start = { revision: task.revision + 1, fence: task.fence, operation: 'restart' as const }
  const { task: fresh, bodies } = newborn(how.publication, start, now)
  const draft: Task = {
    ...fresh,
    ended: Object.fromEntries(kept.map(run => [run.fence, run])),
    ...(how.keepInput && task.input !== undefined && { input: task.input }),
  }
  return revise(task, draft, now, { bodies })
}
