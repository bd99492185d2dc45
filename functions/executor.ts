import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { requiredVariable, versionOfEnvironment } from '../shared/aws/environment.ts'
import type { ReceivingSystem } from '../shared/aws/system.ts'
import { queueNameOf } from '../shared/core/types/task-type.ts'
import { BatonError } from '../shared/core/values/values.ts'
import { invocationWorkerId } from '../shared/core/worker.ts'
import type { TaskDefinition } from '../shared/define/definitions.ts'
import { type ReceivedDispatch, serveDispatches } from '../shared/runtime/dispatch/serve-dispatches.ts'
import { flushSpans } from '../shared/runtime/kernel/spans.ts'
import { cachedTypeReader } from '../shared/runtime/types/type-cache.ts'
import { composeReceivingSystem, flushMetrics } from './compose/compose.ts'
import { labelConsole, withConsoleLines } from './console-lines.ts'
import { lockIntrinsics } from './lock-intrinsics.ts'

/** When only this time is left of the invocation, its runs are aborted and end as timed out. */
const STOP_MARGIN_MS = 3_000

type Handler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>

/**
 * The Lambda handler that serves a task type from its queue, or several types from a queue each. All messages of an invocation come
 * from one queue, and its name says which definition serves them.
 */
export function executorOf(first: TaskDefinition, ...others: TaskDefinition[]): Handler {
  lockIntrinsics()
  const receiving = composeReceivingSystem()
  const isInDevelopment = process.env.BATON_DEV === '1'
  const system = { ...receiving.system, hasLiveLogs: isInDevelopment }
  const typeOf = cachedTypeReader(system)
  const version = versionOfEnvironment()
  const definitionFor = others.length === 0 ? () => first : definitionByQueue([first, ...others])
  const aborting = abortedBySigterm()
  if (isInDevelopment) labelConsole()
  return async (event, context) => {
    const stopAt = system.clock.now() + context.getRemainingTimeInMillis() - STOP_MARGIN_MS
    const read = await Promise.all(event.Records.map(record => readRecord(receiving, record)))
    const received = read.flatMap(one => one.received ?? [])
    const unread = read.flatMap(one => one.unread ?? [])
    const definition = definitionFor(event)
    const claimer = { workerId: invocationWorkerId(context.awsRequestId), ...version }
    try {
      const failed = await serveDispatches(system, received, claimer, {
        definition: isInDevelopment ? withConsoleLines(definition) : definition,
        typeOf,
        stopAt,
        aborting,
      })
      return { batchItemFailures: [...unread, ...failed].map(itemIdentifier => ({ itemIdentifier })) }
    } finally {
      flushMetrics()
      await flushSpans(system.clock)
    }
  }
}

/**
 * Returns which definition serves an event.
 *
 * @throws BatonError `misconfigured`, when it is called, for messages of a queue of no definition.
 */
export function definitionByQueue(
  definitions: readonly TaskDefinition[],
): (event: Pick<SQSEvent, 'Records'>) => TaskDefinition {
  const system = requiredVariable('BATON_SYSTEM')
  const byQueue = new Map(definitions.map(one => [queueNameOf(system, one.type), one]))
  return ({ Records: [record] }) => {
    const queue = record?.eventSourceARN.split(':').at(-1) ?? ''
    const definition = byQueue.get(queue)
    if (definition) return definition
    throw new BatonError(
      'misconfigured',
      `this function serves the queues ${[...byQueue.keys()].join(', ')}, and received messages of '${queue}'`,
    )
  }
}

/**
 * SIGTERM releases the runs of the process, without a retry. The local system sends it when the code has been replaced. On AWS,
 * Lambda sends it to an idle process only.
 */
function abortedBySigterm(): AbortSignal {
  const aborting = new AbortController()
  process.on('SIGTERM', () => aborting.abort())
  return aborting.signal
}

type ReadRecord = { readonly received?: ReceivedDispatch; readonly unread?: string }

/**
 * Reads the dispatch in a message. A message that can never be read is dropped, and the sweeper sends a new dispatch. A
 * message that cannot be read now stays in its queue, which delivers it again.
 */
async function readRecord({ system, readDispatch }: ReceivingSystem, record: SQSRecord): Promise<ReadRecord> {
  const { messageId, body } = record
  try {
    const read = await readDispatch(body)
    return read ? { received: { messageId, ...read } } : {}
  } catch (error) {
    system.log.warn('a dispatch cannot be read now; SQS delivers it again', { error, messageId })
    return { unread: messageId }
  }
}
