import { pieceOf } from '../../core/task/piece.ts'
import { endedRuns, type Task } from '../../core/task/task.ts'

/**
 * A suspect is a task whose last run was lost, which suggests that it took its process down. The runs of one invocation
 * share a process, so a function runs a suspect alone.
 */
type Suspects<One> = {
  /** One suspect if there is any, else all. */
  readonly toRun: readonly One[]
  readonly others: readonly One[]
}

/** Divides what one invocation received or claimed, so that a suspect runs alone. */
export function suspectAlone<One extends { readonly task: Task }>(all: readonly One[]): Suspects<One> {
  const suspect = all.find(({ task }) => isSuspect(task))
  if (!suspect) return { toRun: all, others: [] }
  return { toRun: [suspect], others: all.filter(one => one !== suspect) }
}

/** Whether the last run of the task's present stage or step was lost. */
export function isSuspect(task: Task): boolean {
  const piece = pieceOf(task)
  const last = endedRuns(task)
    .filter(run => run.piece === piece)
    .sort((a, b) => a.fence - b.fence)
    .at(-1)
  return last?.state === 'lost'
}
