import type { Clock } from '../../../shared/ports/machine.ts'

/** A clock that does not move until it is advanced. */
export type ManualClock = Clock & {
  /** Moves the wall clock forward or back by `ms`. Monotonic time and sleepers are not affected. */
  step(ms: number): void
  /** Moves the time forward by `ms`. Each sleeper wakes at its exact time, in order, and may sleep again within the span. */
  advance(ms: number): Promise<void>
  /** The number of present sleepers. */
  sleepers(): number
}

type Sleeper = { readonly until: number; readonly wake: () => void }

export function createManualClock(start: number): ManualClock {
  let now = start
  let stepped = 0
  const sleeping = new Set<Sleeper>()

  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>(resolve => {
      if (signal?.aborted || ms <= 0) return resolve()
      const wake = () => {
        sleeping.delete(sleeper)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper = { until: now + ms, wake }
      sleeping.add(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })

  const advance = async (ms: number) => {
    const end = now + ms
    await untilIdle()
    for (let next = nextToWake(sleeping, end); next; next = nextToWake(sleeping, end)) {
      now = Math.max(now, next.until)
      next.wake()
      await untilIdle()
    }
    now = end
  }

  return {
    now: () => now + stepped,
    monotonic: () => now - start,
    sleep,
    advance,
    step: ms => {
      stepped += ms
    },
    sleepers: () => sleeping.size,
  }
}

/** The sleeper that wakes first, if that is by `end`. */
function nextToWake(sleeping: ReadonlySet<Sleeper>, end: number): Sleeper | undefined {
  return [...sleeping].filter(({ until }) => until <= end).sort((a, b) => a.until - b.until)[0]
}

/** Lets all work run that does not wait for time to pass. */
function untilIdle(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
