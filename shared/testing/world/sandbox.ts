import { AsyncLocalStorage } from 'node:async_hooks'
import { BatonError } from '../../core/values/values.ts'
import type { Clock } from '../../ports/machine.ts'
import type { System } from '../../runtime/kernel/system.ts'
import { quiet, type Timeline } from './timeline.ts'

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

/**
 * Which handlers are at work in real time. Virtual time stands still meanwhile, so real work (files, sockets, timers) takes no
 * virtual time, and the order of events does not depend on the machine's speed. A handler that waits for virtual time is
 * parked: it does not hold the time still until that wait is over.
 */
export type Activity = {
  /** Runs code of a handler in its worker's process. `what` names it in errors. */
  during<T>(what: string, sandbox: Sandbox, work: () => T | Promise<T>): Promise<T>
  /** Parks the calling handler until `wait` has ended. Outside a handler it only waits. */
  parked<T>(wait: Promise<T>): Promise<T>
  /** The process whose handler is the caller. Undefined for code outside of handlers. */
  caller(): Sandbox | undefined
  /** Resolves when no handler is at work. @throws BatonError `refused` when a handler works for too long */
  settled(): Promise<void>
}

type Job = { readonly what: string; readonly sandbox: Sandbox; parkings: number }

/** `patienceMs` is the real time after which a handler that is still at work counts as stuck. */
export function createActivity(patienceMs: number): Activity {
  const present = new AsyncLocalStorage<Job>()
  const atWork = new Set<Job>()
  let changed = () => {}
  const remove = (job: Job) => {
    atWork.delete(job)
    changed()
  }

  const nextChange = () =>
    new Promise<void>((resolve, reject) => {
      const timer = realTimers.set(() => reject(stuck([...atWork], patienceMs)), patienceMs)
      changed = () => {
        realTimers.clear(timer)
        resolve()
      }
    })

  return {
    during: async (what, sandbox, work) => {
      const job: Job = { what, sandbox, parkings: 0 }
      atWork.add(job)
      try {
        return await present.run(job, async () => work())
      } finally {
        remove(job)
      }
    },
    parked: async wait => {
      const job = present.getStore()
      if (!job) return wait
      job.parkings += 1
      remove(job)
      try {
        return await wait
      } finally {
        job.parkings -= 1
        if (job.parkings === 0) atWork.add(job)
      }
    },
    caller: () => present.getStore()?.sandbox,
    settled: async () => {
      await quiet()
      while (atWork.size > 0) {
        await nextChange()
        await quiet()
      }
    },
  }
}

/** Kept from the start: a test may replace the global timers while it runs. */
const realTimers = { set: globalThis.setTimeout, clear: globalThis.clearTimeout }

function stuck(jobs: readonly Job[], patienceMs: number): BatonError {
  const names = jobs.map(({ what }) => what).join(', ')
  return new BatonError(
    'refused',
    `the handler of ${names} has not ended after ${patienceMs} ms of real time. Virtual time stands still while a handler works. ` +
      "A handler waits in virtual time with the test system's sleep(…), and takes() makes runs last; " +
      'for slower real work set handlerPatienceMs',
  )
}
