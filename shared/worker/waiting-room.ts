import type { Clock } from '../ports/machine.ts'
import type { WaitingRoom } from '../runtime/control/starting.ts'
import type { Slots } from './slots.ts'

/**
 * Who waits for a turn keeps the slot, so that there is one when the turn comes; at least half of the slots are left to others. All
 * leave when the worker takes on nothing more.
 */
export function createWaitingRoom(clock: Clock, slots: Slots, over: AbortSignal): WaitingRoom {
  let waiting = 0
  return async time => {
    if (2 * (waiting + 1) > slots.size()) return
    waiting += 1
    await clock.sleep(time - clock.now(), over)
    waiting -= 1
  }
}
