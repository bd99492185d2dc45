import { buildApp } from 'fauxqs'
import { type Answer, bodyOf, type Call } from '../gateway/call.ts'

/** The trace headers of this many sent messages are kept. */
const TRACES_KEPT = 100_000

type SqsStore = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>['sqsStore']

type Parts = {
  readonly stores: NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>
  save(): void
}

type QueuedMessage = {
  readonly messageId: string
  readonly body: string
  readonly state: 'ready' | 'delayed' | 'in-flight'
  readonly receiveCount: number
  readonly trace: string | undefined
}

export type SqsServer = Awaited<ReturnType<typeof startSqsServer>>

/**
 * The SQS server `fauxqs`, in this process and without its own port. `startFauxqs` would listen on all interfaces, and a second hop
 * over TCP would cost more than the call.
 */
export async function startSqsServer(gatewayUrl: string, dataDir: string | undefined) {
  const { stores, save } = await openStores(gatewayUrl, dataDir)
  const app = buildApp({ logger: false, stores })
  await app.ready()
  const traces = new Map<string, string>()
  const sources = noteSources(stores.sqsStore)
  const { host } = new URL(gatewayUrl)

  const wakeReceivers = (name: string) => stores.sqsStore.getQueueByName(name)?.cancelWaiters()

  return {
    answer: async (call: Call) => {
      // A caller that has hung up must not get a message. All waiting receives of the queue end, and the other callers ask again.
      if (call.operation === 'ReceiveMessage')
        call.hungUp?.addEventListener('abort', () => wakeReceivers(queueNameIn(call)), { once: true })
      const answer = await app.inject({
        method: 'POST',
        url: '/',
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': String(call.headers['x-amz-target']),
          authorization: String(call.headers.authorization),
          host,
        },
        payload: call.body,
      })
      const result = {
        status: answer.statusCode,
        headers: headersOf(answer.headers),
        body: answer.rawPayload,
      }
      keepTraces(traces, call, result)
      return call.operation === 'ReceiveMessage' ? withSources(sources, call, result) : result
    },
    /** All messages of a queue: waiting, delayed and in flight. */
    inspect: (name: string) => ({
      messages: inspect(stores.sqsStore, name).map(message => ({
        ...message,
        trace: traces.get(message.messageId),
      })),
    }),
    /** The `AWSTraceHeader` of a message. */
    traceOf: (messageId: string) => traces.get(messageId),
    /** Ends the waiting receives of a queue. They return the messages that are there. */
    wakeReceivers,
    stop: async () => {
      stores.sqsStore.shutdown()
      await app.close()
      save()
    },
  }
}

function queueNameIn(call: Call): string {
  return String(bodyOf(call).QueueUrl).split('/').at(-1) ?? ''
}

function inspect(store: SqsStore, name: string): Omit<QueuedMessage, 'trace'>[] {
  const found = store.inspectQueue(name)?.messages
  if (!found) return []
  type Stored = (typeof found.ready)[number]
  const inState = (state: QueuedMessage['state']) => (message: Stored) => ({
    messageId: message.messageId,
    body: message.body,
    state,
    receiveCount: message.approximateReceiveCount,
  })
  return [
    ...found.ready.map(inState('ready')),
    ...found.delayed.map(inState('delayed')),
    ...found.inflight.map(({ message }) => inState('in-flight')(message)),
  ]
}

// The package exports neither its stores nor its persistence. Its version is pinned, so the paths of their files are stable.
async function openStores(gatewayUrl: string, dataDir: string | undefined): Promise<Parts> {
  const load = (file: string) => import(new URL(file, import.meta.resolve('fauxqs')).href)
  const [{ SqsStore }, { SnsStore }, { S3Store }] = await Promise.all(
    ['./sqs/sqsStore.js', './sns/snsStore.js', './s3/s3Store.js'].map(load),
  )
  const sqsStore = new SqsStore() as SqsStore
  // With a host the server would write its own form of queue URL. Without one it uses the host of the request: the gateway's.
  sqsStore.host = ''
  const stores = { sqsStore, snsStore: new SnsStore(), s3Store: new S3Store() }
  if (!dataDir) return { stores, save: () => {} }

  const { PersistenceManager } = await load('./persistence.js')
  const persistence = new PersistenceManager(dataDir)
  persistence.loadSqsAndSns(stores.sqsStore, stores.snsStore)
  sqsStore.persistence = persistence
  for (const queue of sqsStore.allQueues()) {
    queue.persistence = persistence
    // The kept URL has the port of the last run.
    Object.assign(queue, { url: new URL(new URL(queue.url).pathname, gatewayUrl).href })
  }
  return { stores, save: () => persistence.close() }
}

/**
 * Notes which queue has moved a message to its dead-letter queue. SQS reports it to receivers, and fauxqs does not. The notes do not outlive
 * this process.
 */
function noteSources(store: SqsStore): ReadonlyMap<string, string> {
  const sources = new Map<string, string>()
  const addMessage = ({ status, messageId, queueName }: Spied) => {
    if (status !== 'dlq') return
    const arn = store.getQueueByName(queueName)?.arn
    if (arn !== undefined) sources.set(messageId, arn)
    forgetOldest(sources)
  }
  // The store hands its spy to the queues that it creates from now on.
  Object.assign(store, { spy: { addMessage } })
  for (const queue of store.allQueues()) Object.assign(queue, { spy: { addMessage } })
  return sources
}

type Spied = { readonly status: string; readonly messageId: string; readonly queueName: string }

type Received = { MessageId: string; Attributes?: Record<string, string> }

/** Adds the attribute that names the source queue, if the receiver asks for it. */
function withSources(sources: ReadonlyMap<string, string>, call: Call, answer: Answer): Answer {
  const { MessageSystemAttributeNames: names = [] } = bodyOf(call) as {
    MessageSystemAttributeNames?: string[]
  }
  const isSourceWanted = ['All', SOURCE_ATTRIBUTE].some(name => names.includes(name))
  if (answer.status !== 200 || !isSourceWanted) return answer
  const body = bodyOf(answer) as { Messages?: readonly Received[] }
  if (!body.Messages?.some(({ MessageId }) => sources.has(MessageId))) return answer
  const Messages = body.Messages.map(message => withSource(message, sources.get(message.MessageId)))
  return { ...answer, body: Buffer.from(JSON.stringify({ ...body, Messages })) }
}

const SOURCE_ATTRIBUTE = 'DeadLetterQueueSourceArn'

/** fauxqs counts the move as a receive; SQS does not. */
function withSource(message: Received, source: string | undefined): Received {
  if (source === undefined) return message
  const { ApproximateReceiveCount: count, ...rest } = message.Attributes ?? {}
  const counted = count === undefined ? {} : { ApproximateReceiveCount: String(Number(count) - 1) }
  return { ...message, Attributes: { ...rest, ...counted, [SOURCE_ATTRIBUTE]: source } }
}

function headersOf(headers: Record<string, unknown>): Record<string, string> {
  const kept = ['content-type', 'x-amzn-query-error'].filter(name => headers[name] !== undefined)
  return Object.fromEntries(kept.map(name => [name, String(headers[name])]))
}

type Traced = { MessageSystemAttributes?: { AWSTraceHeader?: { StringValue?: string } } }

// fauxqs drops system attributes, but loop detection needs the trace header. Every receive of a message returns its header.
function keepTraces(traces: Map<string, string>, call: Call, answer: Answer) {
  if (answer.status !== 200 || !call.operation.startsWith('SendMessage')) return
  const fromCaller = call.headers['x-amzn-trace-id']
  if (typeof fromCaller !== 'string' && !call.body.includes('AWSTraceHeader')) return
  const sent = bodyOf(call) as Traced & { Entries?: readonly (Traced & { Id: string })[] }
  const result = bodyOf(answer) as {
    MessageId?: string
    Successful?: readonly { Id: string; MessageId: string }[]
  }
  const traceOf = (message: Traced | undefined) =>
    message?.MessageSystemAttributes?.AWSTraceHeader?.StringValue ?? fromCaller
  const receipts = result.MessageId
    ? [[result.MessageId, traceOf(sent)] as const]
    : (result.Successful ?? []).map(
        ({ Id, MessageId }) => [MessageId, traceOf(sent.Entries?.find(entry => entry.Id === Id))] as const,
      )
  for (const [messageId, trace] of receipts) if (typeof trace === 'string') traces.set(messageId, trace)
  forgetOldest(traces)
}

function forgetOldest(traces: Map<string, string>) {
  for (const messageId of traces.keys()) {
    if (traces.size <= TRACES_KEPT) return
    traces.delete(messageId)
  }
}
