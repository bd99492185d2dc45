/**
 * Workers that run anywhere: `run-worker.ts` is the life of one, `receive.ts` reads its queues, `serve.ts` runs what it received
 * in one of its `slots.ts`; `isolation/` runs handlers in processes of their own. This file is the public entry.
 */

import { SQSClient } from '@aws-sdk/client-sqs'
import { logLevelOfEnvironment, systemOfEnvironment } from '../aws/environment.ts'
import { systemClock } from '../aws/machine.ts'
import { CONNECTIONS_DEFAULT, withConnectionQueue } from '../aws/requests.ts'
import { createSqsInbox } from '../aws/sqs/inbox.ts'
import { createAwsWorld, type SystemAddress } from '../aws/system.ts'
import { distinctTasks } from '../define/distinct-tasks.ts'
import type { Log, Metrics } from '../ports/machine.ts'
import { createConsoleLog } from './console-log.ts'
import { createIsolation, type IsolationSettings } from './isolation/isolate.ts'
import { runWorker, type Worker, type WorkerSettings } from './run-worker.ts'

/** The public entry `baton/worker`, apart from `baton`: files that define tasks load no AWS client. */
export type { EndedHookedRun, Failure, HookedRun } from './hooks.ts'
export type { Worker } from './run-worker.ts'

export type WorkerOptions = WorkerSettings & {
  /** Which system it serves. @default from `BATON_TABLE`, `BATON_SYSTEM` and `BATON_WAKE_QUEUE_URL` */
  readonly system?: SystemAddress
  /** Runs each task in a process of its own. */
  readonly isolate?: IsolationSettings
  /** @default JSON lines on standard output, from the level `BATON_LOG_LEVEL` on, which is `info` unless set */
  readonly log?: Log
  /** @default none */
  readonly metrics?: Metrics
}

/** A receive waits up to 20 s for messages; a connection that says nothing for longer is given up. */
const RECEIVE_TIMEOUT_MS = 25_000

const noMetrics: Metrics = { add: () => undefined }

/**
 * A worker that serves tasks from their queues, in this process. Region and credentials come as the AWS SDK finds them.
 *
 * ```ts
 * const worker = createWorker({ tasks: [resize, order], concurrency: 20 })
 * worker.start()
 * process.once('SIGTERM', () => worker.stop())
 * ```
 *
 * @throws BatonError `invalid` for two definitions of one type or a concurrency below 1, `misconfigured` when neither `system`
 * nor the environment says which system to serve, or for an unknown `BATON_LOG_LEVEL`.
 */
export function createWorker(options: WorkerOptions): Worker {
  const { log = createConsoleLog(logLevelOfEnvironment()), metrics = noMetrics, isolate } = options
  const { table, system, wakeQueueUrl } = options.system ?? systemOfEnvironment()
  const { system: world, codec, readDispatch } = createAwsWorld({ table, system, wakeQueueUrl, log, metrics })
  const definitions = distinctTasks(options.tasks)
  // A client of its own, in which each type may wait: else receives would keep other calls from their connections.
  const connections = definitions.length + CONNECTIONS_DEFAULT
  const inbox = createSqsInbox(
    withConnectionQueue(requestHandler => new SQSClient({ requestHandler }), {
      connections,
      requestTimeout: RECEIVE_TIMEOUT_MS,
    }),
    { system, wakeQueueUrl },
    { log, clock: systemClock, codec, readDispatch },
  )
  if (!isolate) return runWorker(world, inbox, options)
  const isolation = createIsolation(isolate)
  const tasks = definitions.map(isolation.isolated)
  const worker = runWorker(world, inbox, { ...options, tasks })
  return {
    ...worker,
    stop: stopping => worker.stop(stopping).finally(isolation.end),
    abort: () => worker.abort().finally(isolation.end),
  }
}
