import type { Clock } from '../../ports/machine.ts'
import type { System } from '../../runtime/kernel/system.ts'
import type { Timeline } from './timeline.ts'

/**
 * The process of a worker, which the test can kill or freeze. All that reaches the process from outside comes by `deliver`:
 * answers of stores and queues, and the end of each sleep. A dead process never receives it, and a frozen one when it
 * continues. A request that a frozen process makes leaves it at that time, too.
 */
export type Sandbox = {
  readonly clock: Clock
  isAlive(): boolean
  kill(): void
  freeze(ms: number): void
  /** The system as the process reaches it. */
  systemOf(system: System): System
}

const NEVER = new Promise<never>(() => undefined)

export function createSandbox(timeline: Timeline, start: number): Sandbox {
  let alive = true
  let frozenUntil = Number.NEGATIVE_INFINITY
  const held: Array<() => void> = []

  const deliver = (event: () => void) => {
    if (!alive) return
    if (timeline.now() < frozenUntil) held.push(event)
    else event()
  }
  const thaw = () => {
    if (timeline.now() < frozenUntil) return
    for (const event of held.splice(0)) deliver(event)
  }
  const call = <T>(effect: () => Promise<T>): Promise<T> =>
    alive
      ? new Promise((resolve, reject) =>
          deliver(() => {
            effect().then(
              value => deliver(() => resolve(value)),
              error => deliver(() => reject(error)),
            )
          }),
        )
      : NEVER
  const reach = <Port extends object>(port: Port): Port => {
    const methods = Object.entries(port).map(([name, does]) => [
      name,
      typeof does === 'function' ? (...given: unknown[]) => call(async () => does(...given)) : does,
    ])
    return Object.fromEntries(methods)
  }
  const clock = createVirtualClock(timeline, start, deliver)

  return {
    clock,
    isAlive: () => alive,
    kill: () => {
      alive = false
      held.length = 0
    },
    freeze: ms => {
      frozenUntil = timeline.now() + ms
      timeline.at(frozenUntil, thaw)
    },
    systemOf: system => ({
      ...system,
      clock,
      tasks: reach(system.tasks),
      types: reach(system.types),
      canvases: reach(system.canvases),
      records: reach(system.records),
      limits: reach(system.limits),
      turns: reach(system.turns),
      targets: reach(system.targets),
      workers: reach(system.workers),
      messages: reach(system.messages),
    }),
  }
}

/** A clock that shows virtual time. `deliver` brings the end of a sleep to the process. */
export function createVirtualClock(
  timeline: Timeline,
  start: number,
  deliver: (event: () => void) => void = event => event(),
): Clock {
  return {
    now: timeline.now,
    monotonic: () => timeline.now() - start,
    sleep: (ms, signal) =>
      new Promise<void>(resolve => {
        if (signal?.aborted || ms <= 0) return resolve()
        const cancel =
          ms < Number.POSITIVE_INFINITY
            ? timeline.at(timeline.now() + Math.ceil(ms), () => deliver(wake))
            : () => {}
        const wake = () => {
          signal?.removeEventListener('abort', wake)
          cancel()
          resolve()
        }
        signal?.addEventListener('abort', wake, { once: true })
      }),
  }
}
