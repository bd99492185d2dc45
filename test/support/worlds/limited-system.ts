import { joinLine } from '../../../shared/core/limits/limits.ts'
import type { LimitLook, Line } from '../../../shared/core/limits/line.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { noteLine } from '../../../shared/runtime/limits/line.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { changeOf } from '../tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from './memory-system.ts'

export const PERMITS: Line = { kind: 'permit', limit: 'resize' }

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

/** Makes stored tasks wait in a line, which is noted. Drops the first look that the note has caused. */
export async function blocked(
  system: MemorySystem,
  tasks: readonly Task[],
  line: Line = PERMITS,
): Promise<void> {
  await noteLine(system, line)
  for (const task of tasks) await system.tasks.apply(changeOf(joinLine(task, line, system.clock.now())))
  system.messages.limitLooks.length = 0
}

/** The keys of the dispatches that were sent since the last call, in order. */
export function dispatchedKeys({ messages }: MemorySystem): string[] {
  return messages.dispatches.splice(0).map(({ task }) => task.key)
}

/** Serves the look of the series for which the note says when it comes, as if it came now. */
export async function lookInSeries(system: MemorySystem, line: Line = PERMITS): Promise<void> {
  const { note } = await system.limits.line(line)
  if (!note) throw new Error(`nothing is noted of the line of ${line.limit}`)
  await serveLimitLook(system, { line, at: note.lookAt, delaySeconds: 0 })
}

/** A look after one permit was given back. */
export const lookOnce: LimitLook = { line: PERMITS, released: 1, delaySeconds: 0 }
