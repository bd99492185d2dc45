import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type TestReceiver = {
  /** The URL with the address 127.0.0.1. */
  readonly url: string
  readonly port: number
  /** Every request, in order. */
  readonly received: readonly Received[]
  /** How many connections were opened to the server, by IPv4 or IPv6, with a request or without one. */
  connections(): number
  stop(): Promise<void>
}

type Respond = (request: IncomingMessage, response: ServerResponse, received: Received) => void

const succeed: Respond = (_request, response) => void response.end('thank you')

/** Starts a server on one port of all addresses, of IPv4 and IPv6. It records every request. */
export async function aReceiver(respond = succeed): Promise<TestReceiver> {
  const received: Received[] = []
  let connections = 0
  // A dual-stack socket takes 127.0.0.1 and ::1 alike; a machine without IPv6 gives one for IPv4.
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request
    const one = { path, headers, body: await text(request) }
    received.push(one)
    respond(request, response, one)
  }).on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    connections: () => connections,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
