import { type Head, isTask } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskStore } from '../../ports/stores.ts'

type Reading = { readonly tasks: Pick<TaskStore, 'head' | 'heads'> }

/** Reads the head under an id, also a tombstone or an expired one. Undefined when the head is of another kind. */
export async function readHead<H extends Head>(
  { tasks }: Reading,
  id: string,
  isOfKind: (head: Head) => head is H,
): Promise<H | undefined> {
  const head = await tasks.head(id)
  return head && isOfKind(head) ? head : undefined
}

/** Reads the task under an id. Undefined for a canvas or a schedule. */
export function readTask(reading: Reading, id: string): Promise<Task | undefined> {
  return readHead(reading, id, isTask)
}

/** Reads the tasks under many ids, as `heads` does: in no order, and eventually consistent. */
export async function readTasks({ tasks }: Reading, ids: readonly string[]): Promise<Task[]> {
  return (await tasks.heads(ids)).filter(isTask)
}

/** Like `readTasks`, by id. */
export async function readTasksById(reading: Reading, ids: readonly string[]): Promise<Map<string, Task>> {
  return new Map((await readTasks(reading, ids)).map(task => [task.id, task]))
}

/** Like `readTasks`, in the order of the ids. */
export async function readTasksInOrder(reading: Reading, ids: readonly string[]): Promise<Task[]> {
  const byId = await readTasksById(reading, ids)
  return ids.flatMap(id => byId.get(id) ?? [])
}
