import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { checkSignature, type FindCredentials } from '../../../local/http/caller.ts'
import { answerInJson, type FakeServices } from './aws-json.ts'
import { answerInXml, type FakeAccount } from './aws-xml.ts'

/** The services of AWS that the command line asks, on this machine. `aws-xml.ts` and `aws-json.ts` hold what they know and answer. */
export type FakeAws = FakeAccount &
  FakeServices & {
    readonly url: string
    /** Codes with which the next calls are refused, each with its status: the ones of the action, or without one any call. */
    readonly refusals: Array<readonly [status: number, code: string, action?: string]>
    /** Answers in place of the next calls of an action: this text with 200, or the first bytes of an answer that breaks off. */
    readonly strange: Array<
      | { readonly action: string; readonly page: string }
      | { readonly action: string; readonly breaksOff: true }
    >
    /** The action of each call with a valid signature. */
    readonly calls: string[]
    stop(): Promise<void>
  }

export type AwsAnswer = {
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
  /** The connection ends within the answer. */
  readonly breaksOff?: boolean
}

/** A call with a valid signature. */
export type AwsCall = {
  readonly service: string
  readonly action: string
  readonly url: URL
  readonly body: string
}

/**
 * Starts the services. They check signatures by code that shares nothing with the signer, and refuse every other credential with 403.
 */
export async function anAws(known: FindCredentials): Promise<FakeAws> {
  const fake = {
    stacks: {} as FakeAccount['stacks'],
    alarms: [] as string[],
    refusals: [] as FakeAws['refusals'][number][],
    strange: [] as FakeAws['strange'][number][],
    calls: [] as string[],
    parameters: { '/cdk-bootstrap/hnb659fds/version': '21' } as Record<string, string>,
    functions: {} as Record<string, object>,
    mappings: [] as FakeServices['mappings'][number][],
    queues: {} as Record<string, Record<string, string>>,
  }
  const server = createServer(async (request, response) => {
    const { status, body, headers, breaksOff } = await answerTo(request, fake, known)
    if (breaksOff) return breakOff(response)
    // The signer looks at the time of a refusal, because its own clock may be wrong.
    response.writeHead(status, { ...headers, date: new Date().toUTCString() }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    ...fake,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Fake = Omit<FakeAws, 'url' | 'stop'>

async function answerTo(request: IncomingMessage, fake: Fake, known: FindCredentials): Promise<AwsAnswer> {
  const body = await buffer(request)
  const [, service = ''] =
    /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\//.exec(request.headers.authorization ?? '') ?? []
  const call = callIn(request, service, body.toString())
  const nth = fake.refusals.findIndex(([, , action = call.action]) => action === call.action)
  const [refused] = nth < 0 ? [] : fake.refusals.splice(nth, 1)
  if (refused) return refusal(call, refused[0], refused[1], `refused as ${refused[1]}`)
  const strange = strangeAnswerTo(call, fake)
  if (strange) return strange
  const { kind } = checkSignature(request, body, known, Date.now(), service)
  if (kind !== 'valid') return refusal(call, 403, 'SignatureDoesNotMatch', 'The signature is wrong')
  fake.calls.push(call.action)
  return isInXml(call) ? answerInXml(call, fake) : answerInJson(call, fake)
}

function strangeAnswerTo({ action }: AwsCall, { strange }: Fake): AwsAnswer | undefined {
  const nth = strange.findIndex(one => one.action === action)
  const [answer] = nth < 0 ? [] : strange.splice(nth, 1)
  if (!answer) return undefined
  return 'page' in answer ? { status: 200, body: answer.page } : { status: 200, body: '', breaksOff: true }
}

function breakOff(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 1_000, date: new Date().toUTCString() })
  response.write('{"beginning', () => response.destroy())
}

function callIn({ url = '/', headers }: IncomingMessage, service: string, body: string): AwsCall {
  const target = String(headers['x-amz-target'] ?? '').split('.')[1]
  const address = new URL(url, 'http://aws')
  const byPath = address.pathname.includes('/functions/')
    ? 'GetFunctionConfiguration'
    : 'ListEventSourceMappings'
  const action = target ?? (service === 'lambda' ? byPath : (new URLSearchParams(body).get('Action') ?? ''))
  return { service, action, url: address, body }
}

function isInXml({ service }: AwsCall): boolean {
  return ['cloudformation', 'sts'].includes(service)
}

/** A refusal in the form of the service: XML, a document with its type, or a header with the type and an address. */
export function refusal(call: AwsCall, status: number, code: string, message: string): AwsAnswer {
  if (isInXml(call)) {
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error>`
    return { status, body: `<ErrorResponse>${error}</ErrorResponse>` }
  }
  if (call.service === 'lambda')
    return {
      status,
      body: JSON.stringify({ Message: message }),
      headers: { 'x-amzn-errortype': `${code}:http://internal.amazon.com/coral/` },
    }
  return { status, body: JSON.stringify({ __type: `com.amazonaws.${call.service}#${code}`, message }) }
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
