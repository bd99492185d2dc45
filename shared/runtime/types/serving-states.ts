import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import type { TypeKind } from '../../core/states.ts'
import { isTakenInOrder } from '../../core/task/piece.ts'
import { endedRuns, isTargeted, liveRuns, type Task } from '../../core/task/task.ts'
import { servingType, type TaskType } from '../../core/types/task-type.ts'
import { readTasks } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'

/**
 * The state of the type whose handler runs the tasks: the number of messages in its queue (undefined without a
 * queue), the time since which it has a handler, and while messages wait, what its queue has delivered lately.
 */
export type TypeState = {
  readonly backlog: number | undefined
  readonly handlerSince: number
  readonly delivered?: Delivered
}

/** A message that was sent at `sentAt` has led to a run that started at `at`. */
type Delivered = { readonly sentAt: number; readonly at: number }

export type StateReader = (type: string, kind: TypeKind) => Promise<TypeState>

/** Creates a reader that measures each queue once per round, although the steps of many flows wait in it. */
export function servingStateReader(
  system: Pick<System, 'messages' | 'tasks'>,
  types: readonly TaskType[],
): StateReader {
  const read = new Map<string, Promise<TypeState>>()
  return (type, kind) => {
    const serving = servingType(type, kind)
    const known = read.get(serving)
    if (known) return known
    const hasQueue = kind === 'handler' || kind === 'webhook'
    const handlerSince = types.find(one => one.type === serving)?.handlerSince ?? 0
    const state = (async () => {
      const backlog = hasQueue ? await system.messages.backlog(serving) : undefined
      const delivered = backlog ? await readDelivered(system, type) : undefined
      return { backlog, handlerSince, ...(delivered && { delivered }) }
    })()
    read.set(serving, state)
    return state
  }
}

const STARTS_READ_MAX = 10

/**
 * What the queue of a type delivers now, as its tasks show: of those that started last, the middle one by its due time. A metric of
 * SQS for the age of messages exists (`ApproximateAgeOfOldestMessage`), but it comes minutes late, and it shows the oldest message,
 * also one that no worker accepts. The tasks of one shard suffice, because ids are spread evenly. Targeted tasks and those taken in
 * order are no sign, since no message of their own starts them. Nor are tasks for several workers, since a message starts each.
 */
async function readDelivered(system: Pick<System, 'tasks'>, type: string): Promise<Delivered | undefined> {
  const newest = { limit: STARTS_READ_MAX, descending: true }
  const pages = await Promise.all([
    system.tasks.page({ index: 'view', partition: viewPartition(type, 'succeeded', 0), ...newest }),
    system.tasks.page({ index: 'view', partition: viewPartition(type, 'failed', 0), ...newest }),
    system.tasks.page({ index: 'place', partition: runningPlace(type, 0), ...newest }),
  ])
  const ids = pages.flatMap(({ entries }) => entries.map(({ id }) => id))
  const starts = (await readTasks(system, ids)).flatMap(deliveryOf).sort((a, b) => b.at - a.at)
  const last = starts.slice(0, STARTS_READ_MAX).sort((a, b) => a.sentAt - b.sentAt)
  return last[Math.floor(last.length / 2)]
}

function deliveryOf(task: Task): Delivered[] {
  const at = Math.max(0, ...[...endedRuns(task), ...liveRuns(task)].map(({ startedAt }) => startedAt))
  const isForOne = task.options.concurrency === 1 && !isTargeted(task)
  return at < task.dueAt || !isForOne || isTakenInOrder(task) ? [] : [{ sentAt: task.dueAt, at }]
}
