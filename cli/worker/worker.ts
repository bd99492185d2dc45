import module from 'node:module'
import { InvalidArgumentError, Option } from 'commander'
import { BatonError, defined } from '../../shared/core/values/values.ts'
import { endWithTheLog } from '../../shared/worker/console-log.ts'
import type { WorkerOptions } from '../../shared/worker/create-worker.ts'
import { definitionsIn } from '../../shared/worker/definitions-in.ts'
import type { Worker } from '../../shared/worker/engine.ts'
import { type SystemOptions, USUAL_URL } from '../connection/connection.ts'
import { readDevRecord } from '../dev/command/dev-record.ts'
import type { DefineCommand } from '../terminal/command.ts'
import type { Io } from '../terminal/io.ts'
import { loadableFile } from './worker-code.ts'

type Options = SystemOptions & {
  readonly concurrency?: number
  readonly workerId?: string
  readonly workerVersion?: string
  readonly drainMs?: number
  readonly isolate?: boolean
}

/** `baton worker`: the first SIGTERM or SIGINT stops it gracefully, a second one releases its runs at once. */
export const worker: DefineCommand = (command, invocation) => {
  const url = new Option(
    '--url <url>',
    "a running baton dev (default: BATON_URL, else baton dev's usual address)",
  )
  command
    .argument('<file>', 'a file that exports tasks or flows')
    .addOption(url.conflicts('stack'))
    .option('--stack <name>', 'a deployed stack, which it serves with your AWS credentials')
    .option('--profile <name>', 'the AWS profile (default: as the AWS CLI)')
    .option('--region <region>', 'the AWS region of the stack (default: as the AWS CLI)')
    .option('--concurrency <n>', 'runs at the same time, of all types together', Number)
    .option('--worker-id <id>', 'a stable name, by which tasks can list this worker')
    .option('--worker-version <v>', 'the version under which it claims tasks')
    .option('--drain-ms <ms>', 'how long its runs may continue after the first signal', wholeMs)
    .option('--isolate', 'runs each handler in a process of its own')
    .addHelpText(
      'after',
      '\nWithout --stack, BATON_TABLE, BATON_SYSTEM and BATON_WAKE_QUEUE_URL name a deployed system; they are outputs of its stack.',
    )
    .action((file: string, options: Options) => run(file, options, invocation))
}

async function run(file: string, options: Options, io: Io): Promise<void> {
  const loadable = await loadableFile(file)
  const tasks = await definitionsIn(loadable, file)
  if (options.stack === undefined) findSystem(options.url)
  else Object.assign(process.env, await environmentOf(options.stack, options, io))
  // The AWS SDK is loaded only now: it takes longer than all that can be refused before.
  const { createWorker } = await import('../../shared/worker/create-worker.ts')
  const served = createWorker(workerOptions(loadable, options, tasks))
  stopOnSignals(served)
  outliveHandlers(served)
  served.start()
  const types = tasks.map(({ type }) => type).join(', ')
  // The compile cache is flushed now and not at the exit, because the process may be killed.
  module.flushCompileCache?.()
  console.log(`worker ${served.workerId} (process ${process.pid}) serves ${types}`)
}

/**
 * Names the system in the environment, unless that names one already. `createWorker` and the AWS SDK read it there.
 *
 * @throws BatonError `misconfigured` when no `baton dev` runs at the address.
 */
function findSystem(given: string | undefined): void {
  if (given === undefined && process.env.BATON_TABLE) return
  const url = given ?? process.env.BATON_URL ?? USUAL_URL
  if (!URL.canParse(url)) throw new BatonError('invalid', `${url} is not a URL; give one like ${USUAL_URL}`)
  const record = readDevRecord(url)
  if (record) return void Object.assign(process.env, record.environment)
  const unset = given === undefined ? 'the environment variable BATON_TABLE is not set, and ' : ''
  throw new BatonError('misconfigured', `${unset}no baton dev of this user runs at ${url}`)
}

/** What `createWorker` and the AWS SDK read in the environment about a deployed system. */
async function environmentOf(stack: string, options: Options, io: Io): Promise<Record<string, string>> {
  const { findDeployed } = await import('../aws/aws.ts')
  const { system } = await findDeployed(stack, options, io)
  return {
    BATON_TABLE: system.table,
    BATON_SYSTEM: system.name,
    BATON_WAKE_QUEUE_URL: system.wakeQueueUrl,
    BATON_JOBS_QUEUE_URL: system.jobsQueueUrl,
    AWS_REGION: system.region,
    ...(options.profile !== undefined && { AWS_PROFILE: options.profile }),
  }
}

function workerOptions(file: string, options: Options, tasks: WorkerOptions['tasks']): WorkerOptions {
  const { concurrency, workerId, workerVersion: version, drainMs, isolate } = options
  const settings = defined({ concurrency, workerId, version, drainMs })
  return { tasks, ...settings, ...(isolate && { isolate: { file } }) }
}

function wholeMs(text: string): number {
  const ms = Number(text)
  if (text.trim() !== '' && Number.isInteger(ms) && ms >= 0) return ms
  throw new InvalidArgumentError('Give a whole number of milliseconds from 0 up.')
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
  endWithTheLog(() => void served.stop().finally(() => process.exit(1)))
  process.on('unhandledRejection', error => {
    console.error('a promise was rejected and has no handler:', error)
  })
  process.on('uncaughtException', async error => {
    console.error('the worker stops after an uncaught error:', error)
    await served.stop()
    process.exit(1)
  })
}
