import { WORKER_VISIBILITY_S } from '../../../shared/core/bounds.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Clock } from '../../../shared/ports/machine.ts'
import type { Delivery, Inbox } from '../../../shared/ports/messages.ts'

/** A delivery that the worker neither removes nor puts back is delivered again after this time. */
const VISIBILITY_MS = WORKER_VISIBILITY_S * 1_000
const POLL_PERIOD_MS = 50

type Queued = { readonly task: Task; readonly passedOn: number; visibleAt: number }

export type MemoryInbox = Inbox & {
  /** Puts a dispatch into the queue of its type. */
  put(task: Task): void
  /** The number of dispatches of the type, including those that a worker has received. */
  size(type: string): number
}

/** Queues in memory. A receive polls every 50 ms, so that a test can advance a manual clock. */
export function createMemoryInbox(clock: Clock): MemoryInbox {
  const queues = new Map<string, Set<Queued>>()
  const queueOf = (type: string) => {
    const queue = queues.get(type) ?? new Set<Queued>()
    queues.set(type, queue)
    return queue
  }

  const deliver = (queue: Set<Queued>, queued: Queued): Delivery => {
    queued.visibleAt = clock.now() + VISIBILITY_MS
    return {
      task: queued.task,
      passedOn: queued.passedOn,
      done: async () => {
        queue.delete(queued)
      },
      putBack: async (delaySeconds, passedOn = queued.passedOn) => {
        queue.delete(queued)
        queue.add({ task: queued.task, passedOn, visibleAt: clock.now() + delaySeconds * 1_000 })
      },
    }
  }

  return {
    put: task => void queueOf(task.type).add({ task, passedOn: 0, visibleAt: clock.now() }),
    size: type => queueOf(type).size,
    receive: async (type, { max, waitMs }, signal) => {
      const queue = queueOf(type)
      const until = clock.now() + waitMs
      for (;;) {
        const visible = [...queue].filter(({ visibleAt }) => visibleAt <= clock.now()).slice(0, max)
        if (visible.length > 0) return visible.map(queued => deliver(queue, queued))
        if (clock.now() >= until || signal?.aborted) return []
        await clock.sleep(Math.min(POLL_PERIOD_MS, until - clock.now()), signal)
      }
    },
  }
}
