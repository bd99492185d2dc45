import type { Task } from './task.ts'

/** Stable over the runs of one piece of work; a restart is another piece. */
export function idempotencyKey({ id, born }: Pick<Task, 'id' | 'born'>): string {
  return `${id}/${born}`
}
