import { requiredVariable, versionOfEnvironment } from '../shared/aws/environment.ts'
import { systemClock } from '../shared/aws/machine.ts'
import type { TaskDefinition } from '../shared/define/define-task.ts'
import { flushSpans } from '../shared/runtime/kernel/spans.ts'
import { createWorker } from '../shared/worker/create-worker.ts'
import { endWithTheLog } from '../shared/worker/log-end.ts'
import type { Worker } from '../shared/worker/run-worker.ts'
import { flushMetrics, log, metrics } from './compose/compose.ts'

/** Metrics are log lines, as in functions. CloudWatch keeps them per minute, so more frequent lines would add nothing. */
const METRICS_PERIOD_MS = 60_000

/**
 * Serves `tasks` in a worker's container until ECS stops the container. After the first signal, runs have `BATON_DRAIN_MS` to
 * finish; the worker then releases the unfinished runs. A second signal releases all runs at once.
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
 * Keeps one handler's mistake from ending the runs of other handlers. A rejected promise that no code catches is only logged. After
 * an uncaught error the process is in an unknown state: the worker lets its runs finish and exits, and ECS starts another one.
 */
function outliveHandlers(worker: Worker): void {
  endWithTheLog(() => void end(worker, 1))
  process.on('unhandledRejection', error => {
    log.error('a promise was rejected, and no code caught it', { error })
  })
  process.on('uncaughtException', error => {
    log.error('the worker stops after an uncaught error', { error })
    void end(worker, 1)
  })
}

/** Stops the worker and exits explicitly, because timers that handlers left behind would keep the process alive. */
async function end(worker: Worker, code: number): Promise<never> {
  await worker.stop()
  flushMetrics()
  await flushSpans(systemClock)
  process.exit(code)
}
