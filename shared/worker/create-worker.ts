/**
 * Standalone workers: processes that serve task types on any machine, from their queues or over HTTP. This file is the public entry
 * `baton-tasks/worker`. It is separate from the entry `baton-tasks`, so that files that define tasks load no AWS client.
 *
 * Read in this order:
 * - `engine.ts`: the life of a worker, from its start to the end of its last run, with its capacity (`capacity.ts`) and the user's
 *   hooks
 * - `queue-worker.ts`: the source of tasks that fetches dispatches from queues; `runtime/dispatch/dispatch.ts` claims and runs their tasks
 * - `http/`: the source that claims tasks over HTTP
 * - `isolation/`: runs each handler in a process of its own
 */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { SQSClient } from '@aws-sdk/client-sqs'
import type { SystemAddress } from '../aws/environment.ts'
import { logLevelOfEnvironment, systemClock, systemOfEnvironment } from '../aws/environment.ts'
import { CONNECTIONS_DEFAULT, withConnectionQueue } from '../aws/requests.ts'
import { createSqsInbox } from '../aws/sqs/inbox.ts'
import { createReceivingSystem } from '../aws/system.ts'
import { distinctTasks } from '../define/definitions.ts'
import type { Log, Metrics } from '../ports/machine.ts'
import { createConsoleLog } from './console-log.ts'
import type { Worker, WorkerSettings } from './engine.ts'
import { type HttpWorkerSettings, runHttpWorker } from './http/http-worker.ts'
import { createIsolation, type IsolationSettings } from './isolation/isolate.ts'
import { runQueueWorker } from './queue-worker.ts'

export type { EndedHookedRun, Failure, HookedRun, Worker } from './engine.ts'

type ProcessOptions = {
  /** Runs each handler in a process of its own. @default handlers run in the worker's process */
  readonly isolate?: IsolationSettings
  /** Receives log lines. @default JSON lines on standard output, at `BATON_LOG_LEVEL` (default `info`) and above */
  readonly log?: Log
}

export type WorkerOptions = WorkerSettings &
  ProcessOptions & {
    /** The system that the worker serves. @default read from `BATON_TABLE`, `BATON_SYSTEM` and `BATON_WAKE_QUEUE_URL` */
    readonly system?: SystemAddress
    /** Receives counts and times, such as `Succeeded` and `RunTime`. @default they are discarded */
    readonly metrics?: Metrics
  }

export type HttpWorkerOptions = HttpWorkerSettings & ProcessOptions

/** A process that serves task types over HTTP. */
export type HttpWorker = Worker

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
  const { log = createConsoleLog(logLevelOfEnvironment()), metrics = noMetrics } = options
  const { table, system: systemName, wakeQueueUrl } = options.system ?? systemOfEnvironment()
  const settings = { table, system: systemName, wakeQueueUrl, log, metrics }
  const { system, codec, readDispatch } = createReceivingSystem(settings)
  // Receives have a client of their own, because they would otherwise occupy the connections of other calls while they wait for
  // messages. It has one connection for the receive of each type, and the default number for deletes and returns of messages.
  const connections = distinctTasks(options.tasks).length + CONNECTIONS_DEFAULT
  const inbox = createSqsInbox(
    withConnectionQueue(requestHandler => new SQSClient({ requestHandler }), {
      connections,
      requestTimeout: RECEIVE_TIMEOUT_MS,
    }),
    { system: systemName, wakeQueueUrl },
    { log, clock: systemClock, codec, readDispatch },
  )
  const { workerId = automaticWorkerId() } = options
  return isolatedWorker(options, tasks => runQueueWorker(system, inbox, { ...options, tasks, workerId }))
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
  const machine = { clock: systemClock, log, workerId }
  return isolatedWorker(options, tasks => runHttpWorker({ ...options, tasks }, machine))
}

/** Creates a worker whose handlers run in processes of their own, if `isolate` is given. The processes end with the worker. */
function isolatedWorker(
  { tasks, isolate }: Pick<WorkerOptions, 'tasks' | 'isolate'>,
  create: (tasks: WorkerOptions['tasks']) => Worker,
): Worker {
  if (!isolate) return create(tasks)
  const isolation = createIsolation(isolate)
  const worker = create(distinctTasks(tasks).map(isolation.isolated))
  return {
    ...worker,
    stop: stopping => worker.stop(stopping).finally(isolation.end),
    abort: () => worker.abort().finally(isolation.end),
  }
}

/** A task's head stores worker ids, so a longer host name is cut. */
const HOST_CHARACTERS_MAX = 30

const host = hostname()
  .replaceAll(/[^A-Za-z0-9._-]/g, '-')
  .slice(0, HOST_CHARACTERS_MAX)

/**
 * Makes a new worker id of host name, process id and a random part. The random part distinguishes workers of one process,
 * and a restarted process that got the same process id as the process before.
 */
function automaticWorkerId(): string {
  return `${host}-${process.pid}-${randomBytes(3).toString('hex')}`
}
