import { BatonError } from '../core/values/values.ts'
import type { Flow, TaskDefinition } from './definitions.ts'

/**
 * Returns the tasks in `definitions` and the tasks of the flows' steps, each definition once.
 *
 * @throws BatonError `invalid` when two different definitions have the same type: a worker could serve only one of them.
 */
export function distinctTasks(definitions: ReadonlyArray<TaskDefinition | Flow>): TaskDefinition[] {
  const tasks = new Set(definitions.flatMap(one => (one.kind === 'baton-flow' ? one.tasks : [one])))
  const byType = new Map<string, TaskDefinition>()
  for (const task of tasks) {
    if (byType.has(task.type)) {
      throw new BatonError('invalid', `two definitions of the type '${task.type}'; give each type once`)
    }
    byType.set(task.type, task)
  }
  return [...tasks]
}
