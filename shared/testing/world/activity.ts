import { AsyncLocalStorage } from 'node:async_hooks'
import { BatonError } from '../../core/errors.ts'
import type { Sandbox } from './sandbox.ts'
import { quiet } from './timeline.ts'

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
