import { readyPlace } from '../core/place.ts'
import type { Task } from '../core/task.ts'
import { shardNumbers, type TaskType } from '../core/task-type.ts'
import { type MergedEntry, mergeRanges, take } from './merge-ranges.ts'
import type { System } from './system.ts'

/** Tasks that wait to be claimed, as the indexes show them: some may be taken by now. Heads are read as late as may be. */
export type ReadyTasks = {
  /** The next tasks in order, `count` or a few less; empty when no more wait. */
  next(count: number): Promise<Task[]>
  /** Goes on at a random place among the next `window`; what is passed over, and `unused`, comes after them. */
  scatter(window: number, unused: readonly Task[]): Promise<void>
}

/** The ready tasks of each type in its order, those of several types in turns; each task once. */
export function readyTasks(system: System, types: readonly TaskType[], pageSize: number): ReadyTasks {
  const entries = distinct(
    inTurns(types.map(type => mergeRanges(system.tasks, rangesOf(type), { pageSize }))),
  )
  const queue: string[] = []
  const fill = async (count: number) => {
    if (queue.length < count) queue.push(...(await take(entries, count - queue.length)))
  }
  return {
    next: async count => {
      for (;;) {
        await fill(count)
        const ids = queue.splice(0, count)
        if (ids.length === 0) return []
        const heads = await headsInOrder(system, ids)
        if (heads.length > 0) return heads
      }
    },
    scatter: async (window, unused) => {
      queue.unshift(...unused.map(({ id }) => id))
      await fill(window)
      const among = Math.min(window, queue.length)
      const passedOver = queue.splice(0, Math.floor(system.chance.fraction() * among))
      queue.splice(among - passedOver.length, 0, ...passedOver)
    },
  }
}

function rangesOf(type: TaskType) {
  return shardNumbers(type).map(shard => ({
    index: 'place' as const,
    partition: readyPlace(type.type, shard),
  }))
}

async function* inTurns(
  lines: ReadonlyArray<AsyncGenerator<MergedEntry, void, undefined>>,
): AsyncGenerator<MergedEntry, void, undefined> {
  let waiting = lines
  while (waiting.length > 0) {
    const round = await Promise.all(waiting.map(async line => ({ line, next: await line.next() })))
    for (const { next } of round) if (!next.done) yield next.value
    waiting = round.filter(({ next }) => !next.done).map(({ line }) => line)
  }
}

async function* distinct(
  entries: AsyncGenerator<MergedEntry, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  const seen = new Set<string>()
  for await (const { id } of entries) {
    if (seen.has(id)) continue
    seen.add(id)
    yield id
  }
}

async function headsInOrder(system: System, ids: readonly string[]): Promise<Task[]> {
  const heads = new Map((await system.tasks.heads(ids)).map(task => [task.id, task]))
  return ids.flatMap(id => heads.get(id) ?? [])
}
