import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { admitting, type HttpAnswer } from '../../loopback/loopback.ts'
import { servePages } from '../../loopback/pages.ts'
import { BatonError } from '../../shared/core/errors.ts'
import { createForward, type Forwarding } from './forward.ts'
import { createSession } from './session.ts'

type DashboardSettings = Forwarding & {
  /** The built files of the dashboard. */
  readonly folder: string
  /** 0 takes a free port. */
  readonly port: number
}

export type DashboardServer = {
  /** The address to open, with its secret. */
  readonly url: string
  /** Resolves when the secret was used a second time, after the answer to that. The server then refuses everything. */
  readonly usedTwice: Promise<void>
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
/** A browser sends a request at once. The bounds are for programs that keep connections. */
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
const CONNECTIONS_MAX = 200

/**
 * Starts the dashboard of a system on this machine.
 *
 * @throws BatonError `misconfigured` when the port is taken
 */
export async function startDashboard(settings: DashboardSettings): Promise<DashboardServer> {
  const { folder, port, isReadOnly } = settings
  const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS })
  server.maxConnections = CONNECTIONS_MAX
  const pages = servePages(folder)
  const forward = createForward(settings)
  const taken = String(await listen(server, port))
  const admit = admitting(taken, [], { name: 'the dashboard', hint: '' })
  const session = createSession(taken)
  const usedTwice = Promise.withResolvers<void>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (isReadOnly) response.setHeader('baton-read-only', 'true')
    const refusal = admit(request) ?? session.check(request)
    if (session.isOver()) response.once('close', usedTwice.resolve)
    if (refusal) send(response, refusal)
    else if (!pages(request, response)) void forward(request, response)
  })
  return {
    url: `http://${HOST}:${taken}${session.entry}`,
    usedTwice: usedTwice.promise,
    stop: () => stop(server),
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE' || cause.code === 'EACCES'
      const problem = `port ${port} cannot be used (${cause.code}): give another --port, or none for a free one`
      reject(isTaken ? new BatonError('misconfigured', problem, { cause }) : cause)
    })
    server.listen(port, HOST, () => resolve((server.address() as AddressInfo).port))
  })
}

function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length })
  response.end(body)
}

function stop(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
