import { writeFile } from 'node:fs/promises'
import { requiredVariable, systemClock, versionOfEnvironment } from '../shared/aws/environment.ts'
import type { TaskDefinition } from '../shared/define/definitions.ts'
import { flushSpans } from '../shared/runtime/kernel/spans.ts'
import { endWithTheLog } from '../shared/worker/console-log.ts'
import { createWorker } from '../shared/worker/create-worker.ts'
import type { Worker } from '../shared/worker/engine.ts'
import { flushMetrics, log, metrics } from './compose/compose.ts'

/** A worker shows that its event loop runs by touching a file this often. The health check of its container reads the file's age. */
const SIGN_OF_LIFE_MS = 10_000

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
  showLife(process.env.BATON_LIFE_FILE)
  stopOnSignals(worker)
  outliveHandlers(worker)
  worker.start()
}

/** Touches the file, if the container has one. A file that cannot be written leaves the container unhealthy, which the log explains. */
function showLife(file: string | undefined): void {
  if (!file) return
  const touch = () =>
    writeFile(file, '').catch(error => log.error('the worker cannot show that it is alive', { file, error }))
  void touch()
  setInterval(touch, SIGN_OF_LIFE_MS)
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
