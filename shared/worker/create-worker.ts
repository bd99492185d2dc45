/**
 * Standalone workers: processes that serve task types from their queues on any machine. This file is the public entry
 * `baton-tasks/worker`. It is separate from the entry `baton-tasks`, so that files that define tasks load no AWS client.
 *
 * Read in this order:
 * - `run-worker.ts`: the life of a worker, from its start to the end of its last run;
 * - `receive.ts`: fetches dispatches from the queues as long as the worker has free capacity (`capacity.ts`);
 * - `runtime/dispatch/dispatch.ts`: claims and runs the task of one dispatch, with the user's hooks (`hooks.ts`) around it;
 * - `isolation/`: runs each handler in a process of its own.
 */

import { SQSClient } from '@aws-sdk/client-sqs'
import { logLevelOfEnvironment, type SystemAddress, systemOfEnvironment } from '../aws/environment.ts'
import { systemClock } from '../aws/machine.ts'
import { CONNECTIONS_DEFAULT, withConnectionQueue } from '../aws/requests.ts'
import { createSqsInbox } from '../aws/sqs/inbox.ts'
import { createReceivingSystem } from '../aws/system.ts'
import { distinctTasks } from '../define/distinct-tasks.ts'
import { type HttpWorker, type HttpWorkerOptions, runHttpWorker } from '../http-worker/http-worker.ts'
import type { Log, Metrics } from '../ports/machine.ts'
import { createConsoleLog } from './console-log.ts'
import { createIsolation, type IsolationSettings } from './isolation/isolate.ts'
import { runWorker, type Worker, type WorkerSettings } from './run-worker.ts'
import { automaticWorkerId } from './worker-id.ts'

export type { HttpWorker, HttpWorkerOptions } from '../http-worker/http-worker.ts'
export type { EndedHookedRun, Failure, HookedRun } from './hooks.ts'
export type { Worker } from './run-worker.ts'

export type WorkerOptions = WorkerSettings & {
  /** The system that the worker serves. @default read from `BATON_TABLE`, `BATON_SYSTEM` and `BATON_WAKE_QUEUE_URL` */
  readonly system?: SystemAddress
  /** Runs each handler in a process of its own. @default handlers run in the worker's process */
  readonly isolate?: IsolationSettings
  /** Receives log lines. @default JSON lines on standard output, at `BATON_LOG_LEVEL` (default `info`) and above */
  readonly log?: Log
  /** Receives counts and times, such as `Succeeded` and `RunTime`. @default they are discarded */
  readonly metrics?: Metrics
}

/** A receive waits up to 20 s for messages. The client closes a connection that stays silent for longer than this. */
const RECEIVE_TIMEOUT_MS = 25_000

const noMetrics: Metrics = { add: () => undefined }

/**
 * Creates a worker that serves tasks from their queues in this process. The AWS SDK finds region and credentials.
 * The worker receives nothing before `start()` is called.
 *
 * ```ts
 * const worker = createWorker({ tasks: [resize, order], concurrency: 20 })
 * worker.start()
 * process.once('SIGTERM', () => worker.stop())
 * ```
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, a concurrency below 1, or a worker id that is
 * empty or too long.
 * @throws BatonError `misconfigured` when neither `system` nor the environment names the system to serve, or when
 * `BATON_LOG_LEVEL` is unknown.
 */
export function createWorker(options: WorkerOptions): Worker {
  const { log = createConsoleLog(logLevelOfEnvironment()), metrics = noMetrics, isolate } = options
  const { table, system: systemName, wakeQueueUrl } = options.system ?? systemOfEnvironment()
  const settings = { table, system: systemName, wakeQueueUrl, log, metrics }
  const { system, codec, readDispatch } = createReceivingSystem(settings)
  const definitions = distinctTasks(options.tasks)
  // Receives have a client of their own, because they would otherwise occupy the connections of other calls while they wait for
  // messages. It has one connection for the receive of each type, and the default number for deletes and returns of messages.
  const connections = definitions.length + CONNECTIONS_DEFAULT
  const inbox = createSqsInbox(
    withConnectionQueue(requestHandler => new SQSClient({ requestHandler }), {
      connections,
      requestTimeout: RECEIVE_TIMEOUT_MS,
    }),
    { system: systemName, wakeQueueUrl },
    { log, clock: systemClock, codec, readDispatch },
  )
  if (!isolate) return runWorker(system, inbox, options)
  const isolation = createIsolation(isolate)
  const tasks = definitions.map(isolation.isolated)
  const worker = runWorker(system, inbox, { ...options, tasks })
  return {
    ...worker,
    stop: stopping => worker.stop(stopping).finally(isolation.end),
    abort: () => worker.abort().finally(isolation.end),
  }
}

/**
 * Creates a worker that serves types of kind `http` over the HTTP API, in this process. It claims nothing before `start()` is called.
 *
 * ```ts
 * const client = createClient({ url, fetch: signedFetch() })
 * const worker = createHttpWorker({ client, tasks: [resize] })
 * worker.start()
 * process.once('SIGTERM', () => worker.stop())
 * ```
 *
 * @throws BatonError `invalid` for no task, two definitions of one type, or a concurrency below 1.
 */
export function createHttpWorker(options: HttpWorkerOptions): HttpWorker {
  const { log = createConsoleLog(logLevelOfEnvironment()), workerId = automaticWorkerId() } = options
  return runHttpWorker(options, { clock: systemClock, log, workerId })
}
