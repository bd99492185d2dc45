import { requiredVariable, versionOfEnvironment } from '../shared/aws/environment.ts'
import { systemClock } from '../shared/aws/machine.ts'
import type { TaskDefinition } from '../shared/define/define-task.ts'
import { flushSpans } from '../shared/runtime/kernel/spans.ts'
import { createWorker } from '../shared/worker/create-worker.ts'
import type { Worker } from '../shared/worker/run-worker.ts'
import { flushMetrics, log, metrics } from './compose/compose.ts'

/** Metrics are lines of the log, as in functions; a minute is their finest period there. */
const METRICS_PERIOD_MS = 60_000

/**
 * What a worker's container does: serves `tasks` until its service stops it. The first signal lets runs finish for
 * `BATON_DRAIN_MS` and gives the rest back; a second one gives them all back at once.
 */
export function serveTasks(tasks: readonly TaskDefinition[]): void {
  const worker = createWorker({
    tasks,
    concurrency: Number(requiredVariable('BATON_CONCURRENCY')),
    drainMs: Number(requiredVariable('BATON_DRAIN_MS')),
    ...versionOfEnvironment(),
    log,
    metrics,
  })
  setInterval(flushMetrics, METRICS_PERIOD_MS)
  stopOnSignals(worker)
  outliveHandlers(worker)
  worker.start()
}

function stopOnSignals(worker: Worker): void {
  let isStopping = false
  const onSignal = () => {
    if (isStopping) return void worker.abort()
    isStopping = true
    void end(worker, 0)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/**
 * A promise that a handler dropped must not end the runs of others. After an error that nobody caught the process is in
 * an unknown state: it lets its runs finish and ends, and the service starts another.
 */
function outliveHandlers(worker: Worker): void {
  process.on('unhandledRejection', error => {
    log.error('a promise was rejected that nobody waits for', { error })
  })
  process.on('uncaughtException', error => {
    log.error('the worker stops after an error that nobody caught', { error })
    void end(worker, 1)
  })
}

/** Exits by itself, since handlers may have left timers behind. */
async function end(worker: Worker, code: number): Promise<never> {
  await worker.stop()
  flushMetrics()
  await flushSpans(systemClock)
  process.exit(code)
}
