import type { Clock } from '../ports/machine.ts'
import type { WaitList } from '../runtime/limits/start.ts'

/** How many runs a worker may have at a time. Its receivers wait for free units and get them in the order of their waiting. */
export type Capacity = {
  /** Takes between one and `most` units, as soon as any is free. Resolves with 0 when `signal` aborts. */
  takeUpTo(most: number, signal: AbortSignal): Promise<number>
  /** Waits until a unit is free, and takes none. Resolves with false when `signal` aborts. */
  whenFree(signal: AbortSignal): Promise<boolean>
  /** Takes one unit if one is free right now. */
  tryTake(): boolean
  /** The number of all units, taken or free. */
  size(): number
  /** Gives units back; one by default. */
  release(count?: number): void
  /** Changes the number of units. When more are taken than remain, none is given until enough were released. */
  resize(size: number): void
}

type Waiter = { readonly most: number; resolve(granted: number): void }

export function createCapacity(initialSize: number): Capacity {
  let size = initialSize
  let taken = 0
  const waiting = new Set<Waiter>()

  /** Each waiter gets an equal share of the free units, so that the first one leaves some to the others. */
  const grant = () => {
    for (const waiter of waiting) {
      const free = size - taken
      if (free <= 0) return
      const share = Math.min(waiter.most, Math.ceil(free / waiting.size))
      waiting.delete(waiter)
      taken += share
      waiter.resolve(share)
    }
  }

  const wait = (most: number, signal: AbortSignal) =>
    new Promise<number>(resolve => {
      if (signal.aborted) return resolve(-1)
      const giveUp = () => {
        waiting.delete(waiter)
        resolve(-1)
      }
      const waiter: Waiter = {
        most,
        resolve: granted => {
          signal.removeEventListener('abort', giveUp)
          resolve(granted)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.add(waiter)
      grant()
    })

  return {
    takeUpTo: async (most, signal) => Math.max(0, await wait(most, signal)),
    whenFree: async signal => (await wait(0, signal)) >= 0,
    tryTake: () => {
      if (taken >= size) return false
      taken += 1
      return true
    },
    size: () => size,
    release: (count = 1) => {
      taken -= count
      grant()
    },
    resize: next => {
      size = next
      grant()
    },
  }
}

/**
 * Lets tasks wait in the worker for their slot under a rate limit. A waiting task keeps its unit of capacity, so that it
 * can start when its slot comes. At most half of the units are used for waiting. All waits end when the worker drains.
 */
export function createWaitList(clock: Clock, capacity: Capacity, draining: AbortSignal): WaitList {
  let waiting = 0
  return {
    enter: () => {
      if (draining.aborted || 2 * (waiting + 1) > capacity.size()) return false
      waiting += 1
      return true
    },
    leave: () => {
      waiting -= 1
    },
    sleepUntil: time => clock.sleep(time - clock.now(), draining),
  }
}
