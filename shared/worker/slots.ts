import type { Clock } from '../ports/machine.ts'
import type { WaitList } from '../runtime/limits/start-policy.ts'

/** The room of a worker: how many runs it may have at a time. Whoever waits for room gets it in turn. */
export type Capacity = {
  /** Takes at least one slot and at most `most`, as soon as there are any; 0 when `signal` aborts. */
  takeUpTo(most: number, signal: AbortSignal): Promise<number>
  /** Waits until there is room, and takes nothing; false when `signal` aborts. */
  whenFree(signal: AbortSignal): Promise<boolean>
  /** Takes one slot if there is one right now. */
  tryTake(): boolean
  /** How many there are, taken or not. */
  size(): number
  release(count?: number): void
  /** Fewer slots than are taken means that none is given until enough came back. */
  resize(size: number): void
}

type Waiter = { readonly most: number; resolve(granted: number): void }

export function createCapacity(initialSize: number): Capacity {
  let size = initialSize
  let taken = 0
  const waiting = new Set<Waiter>()

  /** Each gets its share, so that one whose turn comes first leaves something to the others. */
  const pump = () => {
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
      pump()
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
      pump()
    },
    resize: next => {
      size = next
      pump()
    },
  }
}

/**
 * Who waits for a turn keeps the slot, so that there is one when the turn comes; at least half of the slots are left to others. All
 * leave when the worker takes on nothing more.
 */
export function createInPlaceWait(clock: Clock, slots: Capacity, over: AbortSignal): WaitList {
  let waiting = 0
  return async time => {
    if (2 * (waiting + 1) > slots.size()) return
    waiting += 1
    await clock.sleep(time - clock.now(), over)
    waiting -= 1
  }
}
