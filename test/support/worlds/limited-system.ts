import type { LimitLook } from '../../../shared/core/limits/held-permits.ts'
import { block } from '../../../shared/core/limits/wait.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { readTasks } from '../../../shared/runtime/kernel/read-heads.ts'
import { changeOf } from '../tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from './memory-system.ts'

/** A memory system whose type `resize` has a concurrency limit of `max`. */
export async function aSystemWith(
  max: number,
  parts: Partial<TypeConfiguration> = {},
  type: Partial<TaskType> = {},
): Promise<MemorySystem> {
  const system = aMemorySystem()
  const configuration = {
    kind: 'handler',
    defaults: {},
    shards: 1,
    limits: { concurrency: { max } },
  } as const
  await registered(system, { configuration: { ...configuration, ...parts }, ...type })
  return system
}

export const limited = (max: number) => ({ name: 'resize', limit: { max } })

export async function storedAll(system: MemorySystem, count: number, parts: object = {}): Promise<Task[]> {
  const tasks: Task[] = []
  for (let nth = 0; nth < count; nth++) tasks.push(await stored(system, { key: `k${nth}`, ...parts }))
  return tasks
}

/** Makes stored tasks wait for a permit of their type. */
export async function blocked(system: MemorySystem, tasks: readonly Task[]): Promise<void> {
  for (const task of tasks) await system.tasks.apply(changeOf(block(task, 'resize', system.clock.now())))
}

export async function waitingKeys(system: MemorySystem, tasks: readonly Task[]): Promise<string[]> {
  const heads = await readTasks(
    system,
    tasks.map(({ id }) => id),
  )
  return heads.filter(({ wait }) => wait !== undefined).map(({ key }) => key)
}

export const lookOnce: LimitLook = { limit: 'resize', delaySeconds: 0 }
