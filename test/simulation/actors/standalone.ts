import type { Inbox } from '../../../shared/ports.ts'
import type { PlanningSystem } from '../../../shared/runtime/system.ts'
import { runWorker, type Worker } from '../../../shared/worker/run-worker.ts'
import type { WorkerSetup } from '../scenario.ts'
import { createProcess, type Process } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { handlerIn, type Script } from './handlers.ts'

/** A standalone worker and whoever starts it again when it is gone. */
export type Host = {
  kill(backAfterMs: number): void
  freeze(forMs: number): void
  stop(drainMs: number, backAfterMs: number): void
  resize(concurrency: number): void
}

type Tools = {
  readonly systemFor: (process: Process) => PlanningSystem
  readonly inboxFor: (process: Process) => Inbox
  readonly script: Script
}

const RESTART_MS = 3_000

export function hostStandalone(world: World, setup: WorkerSetup, tools: Tools): Host {
  const { timeline } = world
  const { workerId, version } = setup
  let concurrency = setup.concurrency
  let starts = 0
  let current: { readonly process: Process; readonly worker: Worker } | undefined

  const startAt = (time: number) => timeline.at(time, start)
  const start = () => {
    starts += 1
    const process = createProcess(world, `${workerId}-${starts}`)
    const tasks = setup.types.map(type => handlerIn(world, process, tools.script, type, () => workerId))
    const worker = runWorker(tools.systemFor(process), tools.inboxFor(process), {
      tasks,
      concurrency,
      workerId,
      ...(version !== undefined && { version }),
    })
    current = { process, worker }
    process.onDeath(() => {
      current = undefined
      startAt(timeline.now() + backAfterMs)
    })
    worker.start()
  }
  let backAfterMs = RESTART_MS
  startAt(timeline.now() + setup.startsAt)

  return {
    kill: afterMs => {
      backAfterMs = afterMs
      current?.process.kill('killed from outside')
      backAfterMs = RESTART_MS
    },
    freeze: forMs => current?.process.freeze(forMs),
    stop: (timeoutMs, afterMs) => {
      const stopping = current
      void stopping?.worker.stop({ timeoutMs }).then(() => {
        backAfterMs = afterMs
        stopping.process.kill('stopped')
        backAfterMs = RESTART_MS
      })
    },
    resize: size => {
      concurrency = size
      current?.worker.setConcurrency(size)
    },
  }
}
