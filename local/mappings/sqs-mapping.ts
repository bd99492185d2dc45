import { setTimeout as sleep } from 'node:timers/promises'
import { nameOfArn } from '../account.ts'
import type { LocalFunction } from '../functions/local-function.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { SqsServer } from '../stores/sqs-server.ts'
import type { Pattern } from './event-pattern.ts'
import { controlOf, type Mapping, newMappingState } from './mapping.ts'
import { deliverMessages, type Message } from './sqs-delivery.ts'

/** The most messages of one receive. Larger batches are gathered from several receives. */
const RECEIVE_MESSAGES_MAX = 10

/** Lambda's pollers use SQS's longest wait. */
const LONG_POLL_S = 20

const PAUSE_POLL_MS = 20
const ERROR_WAIT_MS = 500

export type SqsMappingSpec = {
  readonly logicalId: string
  readonly queueArn: string
  readonly queueUrl: string
  /** How long SQS hides a received message. */
  readonly visibilityMs: number
  readonly batchSize: number
  readonly windowMs: number
  readonly concurrency: number
  readonly reportsItemFailures: boolean
  readonly filters: readonly Pattern[]
}

type Parts = { readonly gateway: Gateway; readonly sqs: SqsServer; readonly log: (line: string) => void }

/** A mapping that polls, and its batches under way. */
type Polling = {
  readonly spec: SqsMappingSpec
  readonly target: LocalFunction
  readonly parts: Parts
  readonly queue: ReturnType<typeof openQueue>
  readonly state: ReturnType<typeof newMappingState>
  readonly running: Set<Promise<void>>
}

/** Polls a queue and invokes a function with its messages, with at most `concurrency` concurrent batches. */
export function startSqsMapping(spec: SqsMappingSpec, target: LocalFunction, parts: Parts): Mapping {
  const { logicalId, queueArn } = spec
  const state = newMappingState()
  const queue = openQueue(spec, parts.gateway)
  const polling: Polling = { spec, target, parts, queue, state, running: new Set() }
  const wake = () => parts.sqs.wakeReceivers(nameOfArn(queueArn))
  const ended = poll(polling).then(() => 'ended' as const)
  return {
    logicalId,
    source: 'sqs',
    sourceArn: queueArn,
    functionId: target.logicalId,
    ...controlOf(state, wake),
    stop: async () => {
      state.stopped = true
      // A receive that begins just now may miss the signal, so it is repeated.
      do wake()
      while ((await Promise.race([ended, sleep(PAUSE_POLL_MS)])) !== 'ended')
      await Promise.all(polling.running)
    },
  }
}

async function poll(polling: Polling): Promise<void> {
  const { spec, target, state, running } = polling
  // Further batches would wait for a process, and their visibility timeout could end before they get one.
  const batchesMax = () => Math.min(spec.concurrency, target.maxProcesses)
  while (!state.stopped) {
    if (state.paused) await sleep(PAUSE_POLL_MS)
    else if (running.size >= batchesMax()) await Promise.race(running)
    else await startBatch(polling).catch(cause => waitAfterError(polling, cause))
  }
}

async function startBatch(polling: Polling): Promise<void> {
  const { spec, target, state, queue, running, parts } = polling
  const messages = await gather(polling)
  if (messages.length === 0) return
  const delivery = { ...spec, target, state, traceOf: parts.sqs.traceOf, remove: queue.remove }
  const delivered: Promise<void> = deliverMessages(messages, delivery)
    .catch(cause => {
      if (!state.stopped) parts.log(`${spec.logicalId} could not deliver a batch: ${cause}`)
    })
    .finally(() => running.delete(delivered))
  running.add(delivered)
}

async function gather({ spec, state, queue }: Polling): Promise<Message[]> {
  const messages = await queue.receive(spec.batchSize, LONG_POLL_S)
  const deadline = Date.now() + spec.windowMs
  const wantsMore = () => messages.length < spec.batchSize && Date.now() < deadline && !state.stopped
  while (messages.length > 0 && wantsMore()) {
    const waitS = Math.ceil((deadline - Date.now()) / 1000)
    messages.push(...(await queue.receive(spec.batchSize - messages.length, waitS)))
  }
  return messages
}

async function waitAfterError({ spec, state, parts }: Polling, cause: unknown): Promise<void> {
  if (state.stopped) return
  parts.log(`${spec.logicalId} could not poll: ${cause}`)
  await sleep(ERROR_WAIT_MS)
}

/** The operations that a mapping uses on its queue. Every call is attributed to the mapping. */
function openQueue({ logicalId, queueUrl: QueueUrl }: SqsMappingSpec, gateway: Gateway) {
  return {
    receive: async (count: number, WaitTimeSeconds: number): Promise<Message[]> => {
      const answer = await gateway.call(logicalId, 'sqs', 'ReceiveMessage', {
        QueueUrl,
        MaxNumberOfMessages: Math.min(count, RECEIVE_MESSAGES_MAX),
        WaitTimeSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      })
      return (answer.Messages ?? []) as Message[]
    },
    remove: async (messages: readonly Message[]) => {
      for (let at = 0; at < messages.length; at += RECEIVE_MESSAGES_MAX) {
        const slice = messages.slice(at, at + RECEIVE_MESSAGES_MAX)
        const Entries = slice.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
        await gateway.call(logicalId, 'sqs', 'DeleteMessageBatch', { QueueUrl, Entries })
      }
    },
  }
}
