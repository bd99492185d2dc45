/**
 * The endpoint of all AWS services. It finds the service of a call (`call.ts`), fails the call if a test asks for that
 * (`faults.ts`), and hands it to the service. Then it counts what the call consumed (`meter.ts`, `metering.ts`).
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ARRIVAL, type ArrivalBounds, close, listen, send } from '../../loopback/loopback.ts'
import { REGION } from '../account.ts'
import type { Answer, Backend, Call } from './call.ts'
import { bodyOf, carriesKey, errorAnswer, identify, textFields } from './call.ts'
import type { Faults } from './faults.ts'
import type { Meter } from './meter.ts'
import { isDynamoWrite, meterCall } from './metering.ts'

export type Gateway = Awaited<ReturnType<typeof startGateway>>

type State = {
  readonly meter: Meter
  readonly accessKey: string
  readonly log: (line: string) => void
  readonly backends: Map<string, Backend>
  readonly routes: Map<string, (path: string, body: Buffer) => void>
  readonly writeListeners: Set<(tableNames: readonly string[]) => void>
  /** The calls of services that the local cloud does not have, as lines of the log. */
  readonly reported: Set<string>
  refusalOf: (call: Call) => Answer | undefined
}

/** AWS services take longer headers than API Gateway: Node's 16 KB. */
const CALL_ARRIVAL: ArrivalBounds = { ...ARRIVAL, maxHeaderSize: 16 * 1024 }

/**
 * Starts the one endpoint of all AWS services of the local cloud. The gateway attributes calls, meters them and injects faults. It
 * accepts only requests with `accessKey`, so no web page and no other user of the machine can call.
 */
export async function startGateway(
  meter: Meter,
  faults: Faults,
  accessKey: string,
  log: (line: string) => void,
  arrival: ArrivalBounds = CALL_ARRIVAL,
) {
  const state: State = {
    ...{ meter, accessKey, log, refusalOf: () => undefined },
    ...{ backends: new Map(), routes: new Map(), writeListeners: new Set(), reported: new Set() },
  }
  const serveCall = faults.around(call => served(state, call))
  const answerCall: Backend = async call => state.refusalOf(call) ?? serveCall(call)
  const server = createServer(arrival, (request, response) => {
    answerRequest(state, answerCall, request, response).catch(cause => refuse(response, cause))
  })
  // An SDK client must retry when the server closes its idle connection.
  server.keepAliveTimeout = 0
  const url = await listen(server)
  return {
    url,
    /** Puts a service behind the gateway. */
    serve: (service: string, backend: Backend) => void state.backends.set(service, backend),
    /** Handles requests that are not AWS calls, e.g. answers of custom resources. They carry no key: their path is the secret. */
    route: (prefix: string, handler: (path: string, body: Buffer) => void) =>
      void state.routes.set(prefix, handler),
    /** Calls the listener with the table names of every DynamoDB write that succeeded, until the returned function is called. */
    onWrite: (listener: (tableNames: readonly string[]) => void) => {
      state.writeListeners.add(listener)
      return () => void state.writeListeners.delete(listener)
    },
    /** From now on the gateway refuses calls for which `refusalOf` returns an answer. */
    protect: (refusalOf: (call: Call) => Answer | undefined) => {
      state.refusalOf = refusalOf
    },
    /** Makes a call inside this process. It is metered and meets faults like a call over HTTP. */
    call: async (caller: string, service: string, operation: string, body: unknown, roleArn?: string) => {
      const call = internalCall(caller, service, operation, body)
      const answer = await answerCall(roleArn === undefined ? call : { ...call, roleArn })
      if (answer.status < 300) return bodyOf(answer)
      throw new Error(`${service} ${operation} answered ${answer.status}: ${answer.body}`)
    },
    stop: () => close(server),
  }
}

async function answerRequest(
  { routes, accessKey }: State,
  answerCall: Backend,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url: path = '/', headers } = request
  const route = [...routes].find(([prefix]) => path.startsWith(prefix))
  if (!route && !carriesKey(headers, accessKey)) return send(response, keyless)
  const body = await readBody(request)
  if (route) {
    route[1](path, body)
    return void response.writeHead(200).end()
  }
  const hangingUp = new AbortController()
  response.once('close', () => hangingUp.abort())
  const call = {
    ...identify(headers, method, path),
    ...{ method, path, headers, body, hungUp: hangingUp.signal },
  }
  send(response, await answerCall(call))
}

async function served(state: State, call: Call): Promise<Answer> {
  const { backends, meter, writeListeners, log } = state
  const backend = backends.get(call.service)
  if (!backend) return notServed(state, call)
  const answer = await backend(call)
  // The call is answered even when the meter does not understand it.
  try {
    meterCall(meter, call, answer)
  } catch (cause) {
    log(`${call.operation} of ${call.service} was not metered: ${cause}`)
  }
  if (answer.status === 200 && call.service === 'dynamodb' && isDynamoWrite(call)) {
    const tables = tablesOf(call)
    for (const listener of writeListeners) listener(tables)
  }
  return answer
}

function internalCall(caller: string, service: string, operation: string, body: unknown): Call {
  const target = targetPrefixes[service]?.(operation) ?? service
  return {
    caller,
    service,
    operation,
    method: 'POST',
    path: '/',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `${target}.${operation}`,
      // DynamoDB Local answers only requests with a signature, but does not check it.
      authorization: `AWS4-HMAC-SHA256 Credential=${caller}/20260101/${REGION}/${service}/aws4_request, SignedHeaders=host, Signature=0`,
    },
    body: Buffer.from(JSON.stringify(body)),
  }
}

const streamOperations = new Set(['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'])

const targetPrefixes: Record<string, (operation: string) => string> = {
  dynamodb: operation => (streamOperations.has(operation) ? 'DynamoDBStreams_20120810' : 'DynamoDB_20120810'),
  sqs: () => 'AmazonSQS',
}

function tablesOf(call: Call): string[] {
  if (call.operation === 'BatchWriteItem') return Object.keys(bodyOf(call).RequestItems ?? {})
  return textFields(call.body, 'TableName')
}

/** A caller may invent any number of operations. */
const REPORTS_MAX = 1_000

/** Each operation is reported once for each caller. */
function notServed({ reported, log }: State, { caller, service, operation }: Call): Answer {
  const line = `NOT SUPPORTED locally: ${caller} called ${operation} of ${service}`
  if (!reported.has(line)) log(line)
  if (reported.size < REPORTS_MAX) reported.add(line)
  return errorAnswer(501, 'NotImplemented', `The local cloud has no ${service} (${operation} was called)`)
}

const keyless = errorAnswer(
  403,
  'UnrecognizedClientException',
  'This local system serves its own processes only: a request must carry its key as the session token (AWS_SESSION_TOKEN)',
)

function refuse(response: ServerResponse, cause: unknown) {
  if (response.headersSent) return void response.destroy()
  send(response, errorAnswer(500, 'InternalServerError', String(cause)))
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
}
