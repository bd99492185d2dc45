import type { System } from '../kernel/system.ts'
import { processMemory } from '../kernel/timed-cache.ts'

/** The callers of one process that wait to go on. `isServed` is true while `serve` lets them go on. */
type WaitList = { readonly starts: Array<() => void>; readonly waits: Array<() => void>; isServed: boolean }

const waitListOf = processMemory((): WaitList => ({ starts: [], waits: [], isServed: false }))

/**
 * Resolves for one caller at a time, so that timers fire between two of them. Without this, eight or fifty claims that begin at
 * one moment keep a process busy for longer than a slot lasts. A start goes ahead of a task that only records that it waits.
 */
export function oneAtATime(
  { limits, clock }: Pick<System, 'limits' | 'clock'>,
  kind: 'starts' | 'waits',
): Promise<void> {
  const list = waitListOf(limits)
  const reached = new Promise<void>(resolve => list[kind].push(resolve))
  if (!list.isServed) void serve(list, clock)
  return reached
}

async function serve(list: WaitList, clock: System['clock']): Promise<void> {
  list.isServed = true
  for (let next = nextIn(list); next; next = nextIn(list)) {
    next()
    await clock.sleep(0)
  }
  list.isServed = false
}

function nextIn({ starts, waits }: WaitList): (() => void) | undefined {
  return starts.shift() ?? waits.shift()
}
