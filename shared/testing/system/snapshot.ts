import type { ApiTask } from '../../api/tasks.ts'
import { isTask } from '../../core/task/head.ts'
import { readTask } from '../../runtime/read/read.ts'
import type { StatusReaders } from '../../runtime/read/served.ts'
import { presentTask } from '../../service/present/tasks.ts'
import type { World } from '../world/world.ts'

/**
 * The tasks as the API would show them, as they were when the last call of the test system ended. So a test reads them without `await`. A
 * call describes only the tasks that it has changed, and the open ones if time has passed, since time changes their status.
 */
export type Snapshot = {
  /** Brings the snapshot up to date. */
  refresh(): Promise<void>
  get(id: string): ApiTask | undefined
  /** In the order of their first publish. */
  all(): ApiTask[]
}

export function createSnapshot(
  { system, timeline, heads, open, takeChanged }: World,
  readers: StatusReaders,
): Snapshot {
  const shown = new Map<string, ApiTask>()
  let types = ''
  let time = timeline.now()

  const staleIds = async () => {
    const present = (await system.types.list()).map(({ type, version }) => `${type} ${version}`).join()
    const isAnyStatusOld = timeline.now() !== time || present !== types
    time = timeline.now()
    types = present
    return new Set([...takeChanged(), ...(isAnyStatusOld ? open.keys() : [])])
  }
  const isShown = ({ expiresAt }: ApiTask) =>
    expiresAt === undefined || Date.parse(expiresAt) > timeline.now()

  return {
    refresh: async () => {
      for (const id of await staleIds()) {
        const head = heads.get(id)
        if (!head || !isTask(head)) continue
        const description = await readTask(system, readers, id)
        if (description) shown.set(id, presentTask(description))
        else shown.delete(id)
      }
    },
    get: id => {
      const task = shown.get(id)
      return task && isShown(task) ? task : undefined
    },
    all: () => [...heads.keys()].flatMap(id => shown.get(id) ?? []).filter(isShown),
  }
}
