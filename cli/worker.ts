import module from 'node:module'
import { parseArgs } from 'node:util'
import { BatonError } from '../shared/core/errors.ts'
import { createWorker, type WorkerOptions } from '../shared/worker/create-worker.ts'
import { definitionsIn } from '../shared/worker/definitions-in.ts'
import type { Worker } from '../shared/worker/run-worker.ts'

const usage = `baton worker FILE [--concurrency N] [--worker-id ID] [--worker-version V] [--drain-ms MS] [--isolate]
  serves the tasks that FILE exports; BATON_TABLE, BATON_SYSTEM and BATON_WAKE_QUEUE_URL name the system`

/** `baton worker`: the first SIGTERM or SIGINT stops it gracefully, a second one releases its runs at once. */
export const worker = { usage, run }

async function run(args: readonly string[]): Promise<void> {
  const options = await optionsOf(args)
  const served = createWorker(options)
  stopOnSignals(served)
  outliveHandlers(served)
  served.start()
  const types = options.tasks.map(({ type }) => type).join(', ')
  // The compile cache is flushed now and not at the exit, because the process may be killed.
  module.flushCompileCache?.()
  console.log(`worker ${served.workerId} (process ${process.pid}) serves ${types}`)
}

async function optionsOf(args: readonly string[]): Promise<WorkerOptions> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      concurrency: { type: 'string' },
      'worker-id': { type: 'string' },
      'worker-version': { type: 'string' },
      'drain-ms': { type: 'string' },
      isolate: { type: 'boolean', default: false },
    },
  })
  const [file, another] = positionals
  if (file === undefined || another !== undefined) throw new BatonError('invalid', 'give one FILE')
  const { concurrency, isolate, 'worker-id': workerId } = values
  const { 'worker-version': version, 'drain-ms': drainMs } = values
  return {
    tasks: await definitionsIn(file),
    ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
    ...(workerId !== undefined && { workerId }),
    ...(version !== undefined && { version }),
    ...(drainMs !== undefined && { drainMs: duration(drainMs) }),
    ...(isolate && { isolate: { file } }),
  }
}

function duration(text: string): number {
  const ms = Number(text)
  if (Number.isFinite(ms) && ms >= 0) return ms
  throw new BatonError('invalid', `--drain-ms is ${text}; give a number of milliseconds from 0 up`)
}

function stopOnSignals(served: Worker): void {
  let signals = 0
  const onSignal = async () => {
    signals += 1
    if (signals > 1) return void served.abort()
    console.log(`worker ${served.workerId} stops; ${served.running()} runs under way`)
    await served.stop()
    // Timers that handlers left behind would keep the process alive.
    process.exit(0)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/**
 * Keeps one handler's mistake from ending the runs of other handlers. A rejected promise without a handler is only logged. After
 * an uncaught error the process is in an unknown state: the worker lets its runs finish, and the process exits with code 1.
 */
function outliveHandlers(served: Worker): void {
  process.on('unhandledRejection', error => {
    console.error('a promise was rejected and has no handler:', error)
  })
  process.on('uncaughtException', async error => {
    console.error('the worker stops after an uncaught error:', error)
    await served.stop()
    process.exit(1)
  })
}
