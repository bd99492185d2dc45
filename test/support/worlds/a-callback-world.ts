import { viewPartition } from '../../../shared/core/place/place.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { publish } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { changeOf, taskIn } from '../tasks/a-task.ts'
import { DONE } from '../tasks/flow-life.ts'
import { aMemorySystem, type MemorySystem, registered } from './memory-system.ts'

/** The callback that most tests use. */
export const MAIL = { type: 'mail' }

/** The position in the stream of each change that the planner is given. */
export const POSITION = 'p'

export type CallbackWorld = Awaited<ReturnType<typeof aCallbackWorld>>

/** A system in memory with the types `work` and `mail`, whose planner runs when it is told to. */
export async function aCallbackWorld(storing: (tasks: TaskStore) => TaskStore = tasks => tasks) {
  const complaints: string[] = []
  const complain = (text: string) => complaints.push(text)
  const memory = aMemorySystem()
  const log = { debug: () => {}, info: () => {}, warn: complain, error: complain }
  const system: MemorySystem = { ...memory, tasks: storing(memory.tasks), log }
  for (const type of ['work', 'mail']) await registered(system, { type })
  return {
    system,
    /** The warnings and errors that were logged. */
    complaints,
    published: (request: Partial<PublishRequest> = {}) => published(system, request),
    ended: (task: Task, outcome: Outcome = DONE) => ended(system, task, outcome),
    /** Gives the planner a change of the task. Returns the positions that the stream must deliver again. */
    planned: (task: Task, on = system) => planChanges(on, [{ task, position: POSITION }]),
    head: async (id: string) => (await readTask(system, id)) as Task,
    /** Open tasks of a type. */
    waiting: (type = 'mail') => waiting(system, type),
  }
}

async function published(system: MemorySystem, request: Partial<PublishRequest>): Promise<Task> {
  const outcome = await publish(system, { type: 'work', key: 'k', ...request })
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.task
}

/** The task after a run has ended with `outcome`. */
async function ended({ tasks, clock }: MemorySystem, task: Task, outcome: Outcome): Promise<Task> {
  const claimed = changeOf(claim(task, { workerId: 'w1' }, clock.now()))
  const report = { born: task.born, fence: claimed.after.fence, ...outcome }
  await tasks.apply(claimed)
  return taskIn(await tasks.apply(changeOf(finish(claimed.after, report, clock.now(), 0))))
}

async function waiting({ tasks }: MemorySystem, type: string): Promise<Task[]> {
  const partition = viewPartition(type, 'open', 0)
  const { entries } = await tasks.page({ index: 'view', partition, limit: 100 })
  return readTasks(
    { tasks },
    entries.map(({ id }) => id),
  )
}
