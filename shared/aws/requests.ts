import type {
  AbsoluteLocation,
  FinalizeRequestMiddleware,
  InitializeHandlerOptions,
  InitializeMiddleware,
  RelativeMiddlewareOptions,
} from '@smithy/types'
import pLimit from 'p-limit'

/** Connections of a client without a setting of its own. Source: AWS SDK for JavaScript v3, `maxSockets`. */
export const CONNECTIONS_DEFAULT = 50

/** A silent connection must not delay a heartbeat until the run's lease has ended. The SDK tries three times. */
const TIMEOUTS = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true }

type RequestSettings = {
  /** The most requests that may be under way at a time. @default 50 */
  readonly connections?: number
  /** The longest wait for an answer, in milliseconds. @default 3,000 */
  readonly requestTimeout?: number
}

// biome-ignore lint/suspicious/noExplicitAny: each client has its own types of requests
type Layer = FinalizeRequestMiddleware<any, any>

// biome-ignore lint/suspicious/noExplicitAny: as above
type FirstLayer = InitializeMiddleware<any, any>

type Layered = {
  readonly middlewareStack: {
    add(layer: FirstLayer, options: InitializeHandlerOptions & AbsoluteLocation): void
    addRelativeTo(layer: Layer, options: RelativeMiddlewareOptions): void
  }
}

/**
 * Makes an AWS client whose requests wait for a free connection as long as it takes. The SDK counts that wait as connecting. When a
 * worker claims 400 tasks at once, the SDK would give up the last claims without a request.
 */
export function withConnectionQueue<Client extends Layered>(
  make: (handler: ReturnType<typeof requestHandler>) => Client,
  { connections = CONNECTIONS_DEFAULT, ...limits }: RequestSettings = {},
): Client {
  const client = make(requestHandler(connections, limits))
  const queued = pLimit(connections)
  const waiting: Layer = next => args => queued(() => next(args))
  client.middlewareStack.addRelativeTo(waiting, {
    name: 'waitForConnection',
    relation: 'after',
    toMiddleware: 'retryMiddleware',
  })
  const ownPropertiesOnly: FirstLayer = next => args => {
    hideInherited()
    return next(args)
  }
  client.middlewareStack.add(ownPropertiesOnly, { name: 'ownPropertiesOnly', step: 'initialize' })
  return client
}

/**
 * Hides inherited properties from loops, because the SDK writes every property that a loop shows. A property that a handler added
 * to `Object.prototype` would be in every map of every item that its process stores, and make the items unreadable.
 */
function hideInherited(): void {
  for (const name of Object.keys(Object.prototype)) {
    Object.defineProperty(Object.prototype, name, { enumerable: false })
  }
}

function requestHandler(connections: number, limits: Partial<typeof TIMEOUTS>) {
  const agent = { maxSockets: connections, keepAlive: true }
  return { ...TIMEOUTS, ...limits, httpAgent: agent, httpsAgent: agent }
}
