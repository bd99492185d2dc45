import { createProcess, type Process } from '../world/process.ts'
import type { World } from '../world/world.ts'

/** What a scenario can do to a worker from outside. */
export type Host = {
  kill(backAfterMs: number): void
  freeze(forMs: number): void
  stop(drainMs: number, backAfterMs: number): void
  resize(concurrency: number): void
}

/** Starts a new process of a worker whenever its process has ended. */
export type Supervisor = {
  /** The process that runs now; undefined between two processes. */
  current(): Process | undefined
  /** Ends a process. The next one starts after `backAfterMs`. */
  end(process: Process | undefined, why: string, backAfterMs: number): void
}

const RESTART_MS = 3_000

/** Runs `start` in one process after the other, in the first one after `startsAt` ms. */
export function supervise(
  world: World,
  { workerId, startsAt }: { readonly workerId: string; readonly startsAt: number },
  start: (process: Process) => void,
): Supervisor {
  const { timeline } = world
  let starts = 0
  let current: Process | undefined
  let backAfterMs = RESTART_MS
  const startNext = () => {
    starts += 1
    const process = createProcess(world, `${workerId}-${starts}`)
    current = process
    process.onDeath(() => {
      current = undefined
      timeline.at(timeline.now() + backAfterMs, startNext)
    })
    start(process)
  }
  timeline.at(timeline.now() + startsAt, startNext)
  return {
    current: () => current,
    end: (process, why, afterMs) => {
      backAfterMs = afterMs
      process?.kill(why)
      backAfterMs = RESTART_MS
    },
  }
}
