import type {
  AbsoluteLocation,
  FinalizeRequestMiddleware,
  InitializeHandlerOptions,
  InitializeMiddleware,
  RelativeMiddlewareOptions,
} from '@smithy/types'
import pLimit from 'p-limit'

/** What the SDK opens unless told otherwise. Source: AWS SDK for JavaScript v3, `maxSockets`. */
export const CONNECTIONS_DEFAULT = 50

/** A connection that says nothing must not hold a heartbeat until the lease is gone. The SDK tries three times. */
const LIMITS = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true }

type RequestSettings = {
  /** How many requests may be under way. @default 50 */
  readonly connections?: number
  /** How long an answer may take, in milliseconds. @default 3,000 */
  readonly requestTimeout?: number
}

// biome-ignore lint/suspicious/noExplicitAny: every client has types of its own for what it sends
type Layer = FinalizeRequestMiddleware<any, any>

// biome-ignore lint/suspicious/noExplicitAny: as above
type FirstLayer = InitializeMiddleware<any, any>

type Layered = {
  readonly middlewareStack: {
    add(layer: FirstLayer, options: InitializeHandlerOptions & AbsoluteLocation): void
    addRelativeTo(layer: Layer, options: RelativeMiddlewareOptions): void
  }
}

/** The `requestHandler` of an AWS client. */
type RequestHandler = ReturnType<typeof requestHandler>

/**
 * An AWS client whose requests wait for a connection as long as it takes. The SDK would count that as connecting, so of 400
 * tasks that a worker claims at once the last ones would be given up without having been asked for.
 */
export function withConnectionQueue<Client extends Layered>(
  make: (handler: RequestHandler) => Client,
  { connections = CONNECTIONS_DEFAULT, ...limits }: RequestSettings = {},
): Client {
  const client = make(requestHandler(connections, limits))
  const inTurn = pLimit(connections)
  const waiting: Layer = next => args => inTurn(() => next(args))
  client.middlewareStack.addRelativeTo(waiting, {
    name: 'waitForConnection',
    relation: 'after',
    toMiddleware: 'retryMiddleware',
  })
  const ownOnly: FirstLayer = next => args => {
    hideInherited()
    return next(args)
  }
  client.middlewareStack.add(ownOnly, { name: 'ownPropertiesOnly', step: 'initialize' })
  return client
}

/**
 * The SDK writes inherited properties, too, wherever a loop shows them. What a handler has added to `Object.prototype` would
 * stand in every map of every item that its process stores, and nobody could read them afterwards. So loops show none.
 */
function hideInherited(): void {
  for (const name of Object.keys(Object.prototype)) {
    Object.defineProperty(Object.prototype, name, { enumerable: false })
  }
}

function requestHandler(connections: number, limits: Partial<typeof LIMITS>) {
  const agent = { maxSockets: connections, keepAlive: true }
  return { ...LIMITS, ...limits, httpAgent: agent, httpsAgent: agent }
}
