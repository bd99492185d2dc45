import type { Json } from '../core/json.ts'
import type { Body } from '../core/task.ts'
import type { System } from './system.ts'

/** What a body of the task holds; undefined when it is kept apart and has expired. */
export async function bodyValue(
  { tasks }: Pick<System, 'tasks'>,
  taskId: string,
  body: Body,
): Promise<Json | undefined> {
  return 'inline' in body ? body.inline : tasks.body(taskId, body.ref)
}
