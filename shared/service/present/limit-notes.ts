import { limitValue } from '../../core/limits/limits.ts'
import type { Task } from '../../core/task/task.ts'
import { limitKeys, type TaskType } from '../../core/types/task-type.ts'

/**
 * A sentence for each key by which a limit of these types counts and that an open task lacks. The task then shares one limit with all
 * tasks that lack the key, which is mostly a mistake. Nothing is said of an input that the head does not show.
 */
export function limitNotes(task: Task, types: Iterable<TaskType | undefined>): string[] {
  if (task.state !== 'open') return []
  const sentences = [...types].flatMap(one => {
    if (!one) return []
    return limitKeys(one.configuration).flatMap(key => {
      const found = limitValue(task, key)
      if (!found.known || found.value !== undefined) return []
      return `A limit of ${one.type} counts by ${key}, which ${task.id} lacks: all tasks without it share one limit.`
    })
  })
  return [...new Set(sentences)]
}
