import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { checkSignature, type FindCredentials } from '../../../local/http/signature.ts'

/** What CloudFormation and CloudWatch answer: a stack by its name, a refusal by its code, or the names of alarms that have gone off. */
type FakeStacks = Record<
  string,
  { readonly status?: string; readonly outputs: Readonly<Record<string, string>> }
>

export type FakeCloudFormation = {
  readonly url: string
  readonly stacks: FakeStacks
  readonly alarms: string[]
  /** Codes with which the next calls are refused, each with its status. */
  readonly refusals: Array<readonly [status: number, code: string]>
  /** The action of each call with a valid signature. */
  readonly calls: string[]
  stop(): Promise<void>
}

/**
 * The query API of CloudFormation and CloudWatch on this machine. It checks signatures by code that shares nothing with the signer, and
 * refuses every other credential with 403.
 */
export async function aCloudFormation(known: FindCredentials): Promise<FakeCloudFormation> {
  const fake = {
    stacks: {} as FakeStacks,
    alarms: [] as string[],
    refusals: [] as Array<readonly [number, string]>,
    calls: [] as string[],
  }
  const server = createServer(async (request, response) => {
    const form = await signedForm(request, known)
    if (form) fake.calls.push(form.get('Action') ?? '')
    const { status, xml } = form ? answerTo(form, fake) : WRONG_SIGNATURE
    // The signer looks at the time of a refusal, because its own clock may be wrong.
    response.writeHead(status, { 'content-type': 'text/xml', date: new Date().toUTCString() }).end(xml)
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

type Answer = { readonly status: number; readonly xml: string }

/** The form of a request with a valid signature. */
async function signedForm(
  request: IncomingMessage,
  known: FindCredentials,
): Promise<URLSearchParams | undefined> {
  const body = await buffer(request)
  const form = new URLSearchParams(body.toString())
  const service = form.get('Action') === 'DescribeAlarms' ? 'monitoring' : 'cloudformation'
  const { kind } = checkSignature(request, body, known, Date.now(), service)
  return kind === 'valid' ? form : undefined
}

type Fake = Pick<FakeCloudFormation, 'stacks' | 'alarms' | 'refusals'>

function answerTo(form: URLSearchParams, { stacks, alarms, refusals }: Fake): Answer {
  const refused = refusals.shift()
  if (refused) return refusal(refused[0], refused[1], `refused as ${refused[1]}`)
  if (form.get('Action') === 'DescribeAlarms') return { status: 200, xml: alarmsXml(alarms) }
  if (form.get('Action') === 'ListStackResources') return { status: 200, xml: resourcesXml(form, alarms) }
  const name = (form.get('StackName') ?? '').replace(/^arn:.*:stack\/([^/]+)\/.*$/, '$1')
  const stack = stacks[name]
  if (!stack) return refusal(400, 'ValidationError', `Stack with id ${name} does not exist`)
  return { status: 200, xml: stackXml(name, stack) }
}

function refusal(status: number, code: string, message: string): Answer {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${escaped(message)}</Message></Error>`
  return { status, xml: `<ErrorResponse>${error}</ErrorResponse>` }
}

const WRONG_SIGNATURE = refusal(403, 'SignatureDoesNotMatch', 'The signature is wrong')

function stackXml(name: string, { status = 'CREATE_COMPLETE', outputs }: FakeStacks[string]): string {
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><Description>of ${key}</Description><OutputKey>${key}</OutputKey>
       <OutputValue>${escaped(value)}</OutputValue></member>`,
  )
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
    <StackName>${name}</StackName><Tags><member><Key>OutputKey</Key><Value>no output</Value></member></Tags>
    <StackStatus>${status}</StackStatus><Outputs>${members.join('\n')}</Outputs>
    </member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
}

function alarmsXml(names: readonly string[]): string {
  const dimensions = '<Dimensions><member><Name>QueueName</Name><Value>q</Value></member></Dimensions>'
  // An alarm that was set off by hand may have no reason.
  const reason = (name: string) =>
    name.includes('SetByHand') ? '' : `<StateReason>${name}: 1 &gt; 0</StateReason>`
  const members = names.map(
    name => `<member>${dimensions}<AlarmName>${name}</AlarmName>${reason(name)}</member>`,
  )
  return `<DescribeAlarmsResponse><DescribeAlarmsResult><MetricAlarms>${members.join('')}</MetricAlarms></DescribeAlarmsResult></DescribeAlarmsResponse>`
}

/** The alarms that CloudFormation has named after the stack, a resource on each page. */
function resourcesXml(form: URLSearchParams, alarms: readonly string[]): string {
  const own = alarms.filter(name =>
    new RegExp(`^${form.get('StackName')}-[A-Za-z0-9]+(-[A-Z0-9]+)?$`).test(name),
  )
  const ids = [`${form.get('StackName')}-table`, ...own]
  const at = Number(form.get('NextToken') ?? 0)
  const next = at + 1 < ids.length ? `<NextToken>${at + 1}</NextToken>` : ''
  const member = `<member><PhysicalResourceId>${ids[at]}</PhysicalResourceId></member>`
  return `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${member}</StackResourceSummaries>${next}</ListStackResourcesResult></ListStackResourcesResponse>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The outputs that the construct `TaskSystem` gives a stack. */
export function systemOutputs(name: string, url: string, prefix = ''): Record<string, string> {
  const outputs = {
    ApiUrl: url,
    SystemName: name,
    TableName: `${name}-table`,
    EventBusName: `${name}-bus`,
    WakeQueueUrl: `https://sqs/${name}-wake`,
    JobsQueueUrl: `https://sqs/${name}-jobs`,
  }
  return Object.fromEntries(Object.entries(outputs).map(([key, value]) => [prefix + key, value]))
}
