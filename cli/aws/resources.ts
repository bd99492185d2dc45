import { CloudFormationClient, ListStackResourcesCommand } from '@aws-sdk/client-cloudformation'
import { CloudWatchClient, DescribeAlarmsCommand, type MetricAlarm } from '@aws-sdk/client-cloudwatch'
import type { EventSourceMappingConfiguration, FunctionConfiguration } from '@aws-sdk/client-lambda'
import {
  GetFunctionConfigurationCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda'
import { GetQueueAttributesCommand, type QueueAttributeName, SQSClient } from '@aws-sdk/client-sqs'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import pLimit from 'p-limit'
import { type Access, read, type Settings } from './call.ts'

/**
 * The resources of a stack, and what their services say about them, for `baton doctor`. Each read throws BatonError `refused` when the
 * credentials may not make it, and `unavailable` when the service does not answer.
 */

type StackResource = {
  /** Such as `AWS::Lambda::Function`. */
  readonly type: string
  /** What its service calls it: the name of a function or an alarm, the URL of a queue. */
  readonly physicalId: string
}

const NESTED_STACK = 'AWS::CloudFormation::Stack'

/** Reads the resources of a stack and of the stacks in it, into which the CDK app puts handlers that do not fit. A page has up to 100. */
export async function readResources(stack: string, access: Access): Promise<readonly StackResource[]> {
  const own: StackResource[] = []
  let next: string | undefined
  do {
    const command = new ListStackResourcesCommand({ StackName: stack, NextToken: next })
    const what = `the resources of the stack ${stack}`
    const page = await read(what, 'cloudformation:ListStackResources', access, settings =>
      new CloudFormationClient(settings).send(command),
    )
    const summaries = page?.StackResourceSummaries ?? []
    own.push(
      ...summaries.map(one => ({ type: one.ResourceType ?? '', physicalId: one.PhysicalResourceId ?? '' })),
    )
    next = page?.NextToken
  } while (next !== undefined)
  const nested = own.filter(({ type }) => type === NESTED_STACK)
  const inner: StackResource[] = []
  for (const { physicalId } of nested) inner.push(...(await readResources(physicalId, access)))
  return [...own, ...inner]
}

/** The physical ids of the resources of a type. A resource that is being created has none yet. */
function idsOf(resources: readonly StackResource[], type: string): string[] {
  return resources
    .filter(one => one.type === type && one.physicalId !== '')
    .map(({ physicalId }) => physicalId)
}

/** Reads the state of each item, `atOnce` at a time. The states have the order of the items. The first error ends it. */
async function readEach<Item, State>(
  items: readonly Item[],
  atOnce: number,
  readOne: (item: Item) => Promise<State>,
): Promise<State[]> {
  const limit = pLimit(atOnce)
  return limit.map(items, readOne).finally(limit.clearQueue)
}

/** Reads the version of the CDK's bootstrap in an account and a region. Undefined when there is none. */
export async function readBootstrapVersion(name: string, access: Access): Promise<string | undefined> {
  const send = (settings: Settings) => new SSMClient(settings).send(new GetParameterCommand({ Name: name }))
  const what = `the parameter ${name}`
  const found = await read(what, 'ssm:GetParameter', access, send, /^ParameterNotFound$/)
  return found?.Parameter?.Value
}

/** An alarm that has gone off, or has no data though it needs some, and why in the words of CloudWatch. */
export type RingingAlarm = { readonly name: string; readonly reason: string }

/** The most names in one call. Source: CloudWatch, DescribeAlarms. */
const NAMES_MAX = 100

/**
 * Reads the alarms of a stack that have gone off. It asks for them by their names: `Shop-` also begins the names of alarms of
 * `Shop-staging`, and an alarm may have a name of its own.
 */
export async function readRingingAlarms(
  resources: readonly StackResource[],
  access: Access,
): Promise<RingingAlarm[]> {
  const names = idsOf(resources, 'AWS::CloudWatch::Alarm')
  const ringing: RingingAlarm[] = []
  for (let at = 0; at < names.length; at += NAMES_MAX)
    ringing.push(...(await ringingOf(names.slice(at, at + NAMES_MAX), access)))
  return ringing
}

async function ringingOf(names: string[], access: Access): Promise<RingingAlarm[]> {
  const command = new DescribeAlarmsCommand({ AlarmNames: names, MaxRecords: NAMES_MAX })
  const found = await read('the alarms of the stack', 'cloudwatch:DescribeAlarms', access, settings =>
    new CloudWatchClient(settings).send(command),
  )
  return (found?.MetricAlarms ?? [])
    .filter(isRinging)
    .map(({ AlarmName = '', StateReason = '' }) => ({ name: AlarmName, reason: StateReason }))
}

/** Alarms that must have data, such as the one on the sweeper, treat missing data as missing. All others ignore it. */
function isRinging({ StateValue, TreatMissingData }: MetricAlarm): boolean {
  return StateValue === 'ALARM' || (StateValue === 'INSUFFICIENT_DATA' && TreatMissingData === 'missing')
}

/** What SQS says about a queue of the stack. The numbers are approximate. */
export type QueueState = {
  readonly name: string
  readonly exists: boolean
  readonly waiting: number
  readonly held: number
  /** Whether another queue of the stack gives messages up to it. */
  readonly takesDeadLetters: boolean
}

type Attributes = Partial<Record<QueueAttributeName, string>>

const ATTRIBUTES: QueueAttributeName[] = [
  'QueueArn',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'RedrivePolicy',
]
const QUEUES_AT_ONCE = 10

/** Reads how many messages the queues of a stack have, with one call for each. */
export async function readQueues(resources: readonly StackResource[], access: Access): Promise<QueueState[]> {
  const urls = idsOf(resources, 'AWS::SQS::Queue')
  const queues = await readEach(
    urls,
    QUEUES_AT_ONCE,
    async url => [url, await readQueue(url, access)] as const,
  )
  const deadLetterArns = new Set(queues.flatMap(([, attributes]) => deadLetterArnIn(attributes)))
  return queues.map(([url, attributes]) => ({
    name: url.split('/').at(-1) ?? url,
    exists: attributes !== undefined,
    waiting: Number(attributes?.ApproximateNumberOfMessages ?? 0),
    held: Number(attributes?.ApproximateNumberOfMessagesNotVisible ?? 0),
    takesDeadLetters: deadLetterArns.has(attributes?.QueueArn ?? ''),
  }))
}

async function readQueue(url: string, access: Access): Promise<Attributes | undefined> {
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ATTRIBUTES })
  // The queue is asked at the endpoint of the region, not at the host of its URL.
  const send = (settings: Settings) =>
    new SQSClient({ ...settings, useQueueUrlAsEndpoint: false }).send(command)
  const missing = /QueueDoesNotExist|NonExistentQueue/
  const found = await read(`the queue ${url}`, 'sqs:GetQueueAttributes', access, send, missing)
  return found && (found.Attributes ?? {})
}

function deadLetterArnIn(attributes: Attributes | undefined): string[] {
  if (!attributes?.RedrivePolicy) return []
  const { deadLetterTargetArn } = JSON.parse(attributes.RedrivePolicy) as {
    readonly deadLetterTargetArn?: string
  }
  return deadLetterTargetArn === undefined ? [] : [deadLetterTargetArn]
}

/** What Lambda says about a function of the stack. */
export type FunctionState = {
  readonly name: string
  /** `Missing` when the stack names a function that does not exist. */
  readonly state: 'Active' | 'Inactive' | 'Pending' | 'Failed' | 'Missing' | (string & {})
  readonly stateReason?: string
  readonly update?: 'Successful' | 'InProgress' | 'Failed' | (string & {})
  readonly updateReason?: string
  /** Undefined for a container image. */
  readonly runtime?: string
}

/** What Lambda says about a trigger of the stack: what it reads from a queue or a stream for a function. */
export type TriggerState = {
  readonly id: string
  /** The name of the function. */
  readonly calls: string
  /** The name of the queue or the table. */
  readonly reads: string
  /** `Missing` when the stack names a trigger that does not exist. */
  readonly state: 'Enabled' | 'Disabled' | 'Missing' | (string & {})
  readonly stateReason?: string
  /** Only Lambda's readers of streams report it, such as `OK` or `PROBLEM: Function call failed`. */
  readonly lastResult?: string
}

const NOT_FOUND = /^ResourceNotFoundException$/

const MAPPINGS_ON_A_PAGE = 100
/** Lambda allows an account 15 such reads a second. */
const READS_AT_ONCE = 4

/** Reads the states of the functions of a stack, with one call for each. */
export async function readFunctions(
  resources: readonly StackResource[],
  access: Access,
): Promise<FunctionState[]> {
  const names = idsOf(resources, 'AWS::Lambda::Function')
  return readEach(names, READS_AT_ONCE, name => readFunction(name, access))
}

async function readFunction(name: string, access: Access): Promise<FunctionState> {
  const command = new GetFunctionConfigurationCommand({ FunctionName: name })
  const send = (settings: Settings) => new LambdaClient(settings).send(command)
  const what = `the state of the function ${name}`
  const found = await read(what, 'lambda:GetFunctionConfiguration', access, send, NOT_FOUND)
  return found ? functionStateOf(name, found) : { name, state: 'Missing' }
}

function functionStateOf(
  name: string,
  { State, StateReason, LastUpdateStatus, LastUpdateStatusReason, Runtime }: FunctionConfiguration,
): FunctionState {
  return {
    name,
    state: State ?? 'Active',
    ...(StateReason && { stateReason: StateReason }),
    ...(LastUpdateStatus && { update: LastUpdateStatus }),
    ...(LastUpdateStatusReason && { updateReason: LastUpdateStatusReason }),
    ...(Runtime && { runtime: Runtime }),
  }
}

/**
 * Reads the states of the triggers of a stack. Lambda lists the triggers of the whole account, 100 on a page, so the reading ends with the
 * last one of the stack.
 */
export async function readTriggers(
  resources: readonly StackResource[],
  access: Access,
): Promise<TriggerState[]> {
  const wanted = new Set(idsOf(resources, 'AWS::Lambda::EventSourceMapping'))
  const found = new Map<string, TriggerState>()
  let marker: string | undefined
  while (found.size < wanted.size) {
    const page = await readMappings(marker, access)
    for (const { UUID: id = '', ...one } of page?.EventSourceMappings ?? [])
      if (wanted.has(id)) found.set(id, triggerStateOf(id, one))
    marker = page?.NextMarker
    if (!marker) break
  }
  return [...wanted].map(id => found.get(id) ?? { id, calls: '', reads: '', state: 'Missing' })
}

async function readMappings(marker: string | undefined, access: Access) {
  const command = new ListEventSourceMappingsCommand({ MaxItems: MAPPINGS_ON_A_PAGE, Marker: marker })
  return read('the triggers of functions', 'lambda:ListEventSourceMappings', access, settings =>
    new LambdaClient(settings).send(command),
  )
}

function triggerStateOf(id: string, mapping: EventSourceMappingConfiguration): TriggerState {
  const { State, StateTransitionReason, LastProcessingResult, EventSourceArn, FunctionArn } = mapping
  return {
    id,
    calls: FunctionArn?.split(':')[6] ?? '',
    reads: sourceNameIn(EventSourceArn ?? ''),
    state: State ?? 'unknown',
    ...(StateTransitionReason && { stateReason: StateTransitionReason }),
    ...(LastProcessingResult && { lastResult: LastProcessingResult }),
  }
}

/** `arn:aws:sqs:REGION:ACCOUNT:NAME`, or `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/TIME`. */
function sourceNameIn(arn: string): string {
  const name = arn.split(':').slice(5).join(':')
  return name.startsWith('table/') ? `the stream of ${name.split('/')[1]}` : name
}
