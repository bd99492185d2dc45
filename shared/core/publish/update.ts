import { type Decision, refuse, revise } from '../change/change.ts'
import { openStage, withPastSuccesses } from '../flow/pieces.ts'
import { judgeBudget } from '../run/judge-budget.ts'
import { liveRuns, type Task } from '../task/task.ts'
import { defined } from '../values/json.ts'
import { newborn, type Publication } from './publish.ts'

/**
 * Carries out `ifExists: update`. A task that is neither running nor ended takes the input, the due time and the options of
 * `publication`. It keeps its user, trace and creation time, and its tenant unless the publication names one. It also keeps its
 * ended runs, so a lowered `concurrency` or budget may end the task.
 */
export function update(task: Task, publication: Publication, now: number): Decision<'running' | 'finished'> {
  if (task.state !== 'open') return refuse('finished')
  if (!isUpdatable(task)) return refuse('running')
  const start = { revision: task.revision + 1, fence: task.fence, operation: 'update' as const }
  const { task: fresh, bodies } = newborn({ ...publication, born: task.born, shard: task.shard }, start, now)
  const draft: Task = {
    ...fresh,
    createdAt: task.createdAt,
    ...keptRuns(task, publication),
    ...defined({
      fairnessKey: fresh.fairnessKey ?? task.fairnessKey,
      userId: task.userId,
      traceparent: task.traceparent,
      startedAt: task.startedAt,
      error: task.error,
      operations: task.operations,
      causedBy: fresh.causedBy ?? task.causedBy,
    }),
    // The same tenant keeps its turn.
    ...(task.place && (fresh.fairnessKey ?? task.fairnessKey) === task.fairnessKey && { place: task.place }),
    ...keptParents(task),
  }
  const staged = draft.stage === task.stage ? draft : withStage(draft, task.stage, now)
  return revise(task, judgeBudget(staged, now), now, { bodies })
}

/** Whether the task is open and no run or begun flow is at work on it. */
export function isUpdatable(task: Task): boolean {
  return task.state === 'open' && liveRuns(task).length === 0 && !hasBegun(task)
}

/** The runs and failures that the task keeps. Runs from before its type became a flow count for no step of the flow. */
function keptRuns(task: Task, { flow }: Publication): Pick<Task, 'ended' | 'failures' | 'failuresBy'> {
  if (flow) return { ended: withPastSuccesses(task), failures: 0, failuresBy: {} }
  const { ended, failures, failuresBy } = task
  return { ended, failures, failuresBy }
}

/** Whether a step of the flow has begun. Such a flow is at work even between two runs. */
export function hasBegun({ flow }: Task): boolean {
  return flow !== undefined && Object.keys(flow.steps).length > 0
}

/** The fields that tie the task to its parent or canvas, which an update does not change. */
function keptParents({ parentId, member, previous, immutable }: Task): Partial<Task> {
  return defined({ parentId, member, previous, immutable })
}

/** The draft in the publication's stage, which begins afresh. If the publication names no stage, the task keeps its own. */
function withStage(draft: Task, former: string | undefined, now: number): Task {
  const { stage, dueAt } = draft
  if (stage === undefined) return former === undefined ? draft : { ...draft, stage: former }
  return openStage({ ...draft, ...(former !== undefined && { stage: former }) }, { stage, dueAt }, now)
}
