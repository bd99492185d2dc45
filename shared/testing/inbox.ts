import { WORKER_VISIBILITY_S } from '../core/bounds.ts'
import type { Task } from '../core/task/task.ts'
import type { Clock } from '../ports/machine.ts'
import type { Delivery, Inbox } from '../ports/messages.ts'

/** A delivery that nobody is done with comes again after this. */
const VISIBILITY_MS = WORKER_VISIBILITY_S * 1_000
const POLL_MS = 50

type Queued = { readonly task: Task; readonly passedOn: number; visibleAt: number }

export type MemoryInbox = Inbox & {
  /** Puts a dispatch into the queue of its type. */
  put(task: Task): void
  /** Dispatches of the type that are still there, those in delivery included. */
  size(type: string): number
}

/** Queues in memory. Waiting is asking again every 50 ms, so that a clock that stands still can be moved on. */
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
        await clock.sleep(Math.min(POLL_MS, until - clock.now()), signal)
      }
    },
  }
}
