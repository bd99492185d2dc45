import { type AwsAnswer, type AwsCall, escaped, refusal } from './an-aws.ts'

/** What CloudFormation and the Security Token Service know, and CloudWatch about the alarms of stacks. */
export type FakeAccount = {
  readonly stacks: Record<string, FakeStack>
  /** The names of alarms that have gone off. */
  readonly alarms: string[]
}

type FakeStack = {
  readonly status?: string
  readonly outputs: Readonly<Record<string, string>>
  /** The parameter with the version of the CDK's bootstrap. @default that of the CDK */
  readonly bootstrap?: string | null
  /** The resources besides its alarms, as pairs of a type and a physical id. */
  readonly resources?: Array<readonly [type: string, physicalId: string]>
}

export const CALLER = 'arn:aws:sts::123456789012:assumed-role/Operator/ada'

export function answerInXml(call: AwsCall, { stacks, alarms }: FakeAccount): AwsAnswer {
  const form = new URLSearchParams(call.body)
  if (call.action === 'GetCallerIdentity') return { status: 200, body: callerXml() }
  const name = (form.get('StackName') ?? '').replace(/^arn:.*:stack\/([^/]+)\/.*$/, '$1')
  const stack = stacks[name]
  if (!stack) return refusal(call, 400, 'ValidationError', `Stack with id ${name} does not exist`)
  if (call.action === 'ListStackResources')
    return { status: 200, body: resourcesXml(form, name, stack, alarms) }
  return { status: 200, body: stackXml(name, stack) }
}

function callerXml(): string {
  return `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>${CALLER}</Arn><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
}

const BOOTSTRAP = '/cdk-bootstrap/hnb659fds/version'

function stackXml(
  name: string,
  { status = 'CREATE_COMPLETE', outputs, bootstrap = BOOTSTRAP }: FakeStack,
): string {
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><Description>of ${key}</Description><OutputKey>${key}</OutputKey>
       <OutputValue>${escaped(value)}</OutputValue></member>`,
  )
  const parameter = `<member><ParameterKey>BootstrapVersion</ParameterKey><ParameterValue>${bootstrap}</ParameterValue><ResolvedValue>21</ResolvedValue></member>`
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
    <StackId>arn:aws:cloudformation:us-east-1:123456789012:stack/${name}/0af1</StackId>
    <StackName>${name}</StackName><Tags><member><Key>OutputKey</Key><Value>no output</Value></member></Tags>
    <Parameters><member><ParameterKey>Other</ParameterKey><ParameterValue>x</ParameterValue></member>${bootstrap === null ? '' : parameter}</Parameters>
    <StackStatus>${status}</StackStatus><Outputs>${members.join('\n')}</Outputs>
    </member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
}

const PAGE = 3

/** A page of the resources of a stack, and of the alarms that CloudFormation has named after it. */
function resourcesXml(
  form: URLSearchParams,
  stack: string,
  known: FakeStack,
  alarms: readonly string[],
): string {
  const pattern = new RegExp(`^${stack}-[A-Za-z0-9]+(-[A-Z0-9]+)?$`)
  const own = alarms.filter(name => pattern.test(name)).map(name => ['AWS::CloudWatch::Alarm', name] as const)
  const all = [['AWS::DynamoDB::GlobalTable', `${stack}-table`] as const, ...(known.resources ?? []), ...own]
  const at = Number(form.get('NextToken') ?? 0)
  const next = at + PAGE < all.length ? `<NextToken>${at + PAGE}</NextToken>` : ''
  const members = all.slice(at, at + PAGE).map(([type, id], nth) => {
    const physical = id === '' ? '' : `<PhysicalResourceId>${id}</PhysicalResourceId>`
    return `<member><LogicalResourceId>R${at + nth}</LogicalResourceId>${physical}<ResourceType>${type}</ResourceType></member>`
  })
  return `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>${members.join('')}</StackResourceSummaries>${next}</ListStackResourcesResult></ListStackResourcesResponse>`
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
