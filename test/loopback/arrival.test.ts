import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startDashboard } from '../../cli/dashboard/dashboard.ts'
import { jsonAnswer } from '../../local/gateway/call.ts'
import { createFaults } from '../../local/gateway/faults.ts'
import { startGateway } from '../../local/gateway/gateway.ts'
import { createMeter } from '../../local/gateway/meter.ts'
import { startApiServer } from '../../local/http/http.ts'
import { ARRIVAL } from '../../loopback/loopback.ts'
import { aFolder } from '../support/a-folder.ts'
import { sendRaw } from '../support/http/raw-http.ts'

/** Every server of this machine that Baton starts, with bounds that a test can wait for. */

const SHORT = { ...ARRIVAL, headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 20 }
const CONNECTIONS = 50

type Started = { readonly url: string; stop(): Promise<void> }

const log = () => undefined
const gatewayOf = () => startGateway(createMeter(), createFaults(), 'key', log, SHORT)

const SERVERS: ReadonlyArray<readonly [name: string, start: () => Promise<Started>]> = [
  [
    'the local API',
    () =>
      startApiServer({
        ...{ port: 0, allowedHosts: [], dashboardDir: undefined, costs: undefined, log, arrival: SHORT },
        authentication: { isDemanded: false, sessionToken: 'key' },
      }),
  ],
  ['the gateway of the AWS services', gatewayOf],
  [
    'the dashboard',
    () =>
      startDashboard({
        ...{ folder: aFolder({ 'index.html': '' }), port: 0, isReadOnly: false, arrival: SHORT },
        system: { url: 'https://api.example', fetch: async () => new Response() },
        report: log,
      }),
  ],
]

/** Sends a request line, then a header again and again, until the server ends the connection. */
function sendForEver(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined).resume()
  socket.write(`POST / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`)
  const sending = setInterval(() => socket.write('a: b\r\n'), 5)
  return new Promise(resolve => socket.on('close', () => resolve(clearInterval(sending))))
}

describe.each(SERVERS)('%s', (_name, start) => {
  let server: Started
  let port: number
  beforeEach(async () => {
    server = await start()
    port = Number(new URL(server.url).port)
  })
  afterEach(() => server.stop())

  it('closes connections whose headers never end', async () => {
    const ended = Array.from({ length: CONNECTIONS }, () => sendForEver(port))

    await expect(Promise.all(ended)).resolves.toHaveLength(CONNECTIONS)
  })

  it('answers 408 to a connection that sends half a request and waits', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\n')

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('answers 431 to headers of more than 10,240 bytes', async () => {
    const head = ['GET / HTTP/1.1', `Host: 127.0.0.1:${port}`, `a: ${'b'.repeat(10_240)}`]

    expect(await sendRaw(port, head)).toMatchObject({ status: 431 })
  })
})

it('a call that waits longer for its answer than a request may take to arrive is answered', async () => {
  const gateway = await gatewayOf()
  const port = Number(new URL(gateway.url).port)
  gateway.serve('sqs', async () => {
    await sendForEver(port)
    return jsonAnswer(200, { MessageId: 'late' })
  })
  const authorization = 'AWS4-HMAC-SHA256 Credential=tester/20261122/us-east-1/sqs/aws4_request, Signature=0'

  const answer = await fetch(gateway.url, {
    method: 'POST',
    headers: { authorization, 'x-amz-security-token': 'key', 'x-amz-target': 'AmazonSQS.ReceiveMessage' },
  })

  expect(await answer.json()).toEqual({ MessageId: 'late' })
  await gateway.stop()
})
