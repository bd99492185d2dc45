import type { Inbox } from '../../../shared/ports/messages.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { Worker } from '../../../shared/worker/engine.ts'
import { runQueueWorker } from '../../../shared/worker/queue-worker.ts'
import type { WorkerSetup } from '../scenario.ts'
import type { Process } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { handlerIn, type Script } from './handlers.ts'
import { type Host, supervise } from './host.ts'

type Tools = {
  readonly systemFor: (process: Process) => PlanningSystem
  readonly inboxFor: (process: Process) => Inbox
  readonly script: Script
}

/** Runs a standalone worker in one process after the other. */
export function hostStandalone(world: World, setup: WorkerSetup, tools: Tools): Host {
  const { workerId, version } = setup
  let concurrency = setup.concurrency
  let worker: Worker | undefined

  const supervisor = supervise(world, setup, process => {
    const tasks = setup.types.map(type => handlerIn(world, process, tools.script, type, () => workerId))
    worker = runQueueWorker(tools.systemFor(process), tools.inboxFor(process), {
      tasks,
      concurrency,
      workerId,
      ...(version !== undefined && { version }),
    })
    process.onDeath(() => {
      worker = undefined
    })
    worker.start()
  })

  return {
    kill: afterMs => supervisor.end(supervisor.current(), 'killed from outside', afterMs),
    freeze: forMs => supervisor.current()?.freeze(forMs),
    stop: (timeoutMs, afterMs) => {
      const stopping = supervisor.current()
      void worker?.stop({ timeoutMs }).then(() => supervisor.end(stopping, 'stopped', afterMs))
    },
    resize: size => {
      concurrency = size
      worker?.setConcurrency(size)
    },
  }
}
