import { afterEach } from 'vitest'
import { aLocalSystem, type LocalSystem } from '../local-system/local-system.ts'
import { startWorker, type WorkerProcess } from './worker-process.ts'

type StartArguments = Parameters<typeof startWorker> extends [unknown, ...infer Rest] ? Rest : never

export type WorkerFleet = {
  readonly system: LocalSystem
  /** Starts a worker process, which ends with its test. */
  aWorker(...args: StartArguments): Promise<WorkerProcess>
  /** Publishes tasks with the keys `<prefix>0`, `<prefix>1` … and returns their ids. */
  publishAll(count: number, prefix: string, body: Readonly<Record<string, unknown>>): Promise<string[]>
  /** The reports that runs have started, for keys with this prefix. */
  startsOf(prefix: string): LocalSystem['reports']
  /** Resolves to the first report of this event for this key. */
  hasReported(key: string, event: string): Promise<LocalSystem['reports'][number]>
}

/** Starts a local system for the tests of a file, and ends the worker processes that they start. */
export function aWorkerFleet(): WorkerFleet {
  const system = aLocalSystem()
  const workers = new Set<WorkerProcess>()
  afterEach(async () => {
    for (const worker of workers) worker.signal('SIGKILL')
    await Promise.all([...workers].map(({ ended }) => ended))
    workers.clear()
  })

  return {
    system,
    aWorker: async (...args) => {
      const worker = await startWorker(system, ...args)
      workers.add(worker)
      return worker
    },
    publishAll: async (count, prefix, body) => {
      const tasks = Array.from({ length: count }, (_, i) => ({ ...body, key: `${prefix}${i}` }))
      await system.publishAll(tasks)
      return tasks.map(({ key }) => `${body.type}:${key}`)
    },
    startsOf: prefix =>
      system.reports.filter(({ event, key }) => event === 'started' && key.startsWith(prefix)),
    hasReported: (key, event) => system.reportWhen(report => report.key === key && report.event === event),
  }
}

export const statesOf = (task: { runs: Array<{ state: string }> }) => task.runs.map(({ state }) => state)

/** Prints a figure for docs/measured.md if `MEASURE` is set. */
export function measured(what: string, ms: number): void {
  if (process.env.MEASURE) console.log(`measured: ${what}: ${(ms / 1_000).toFixed(3)} s`)
}
