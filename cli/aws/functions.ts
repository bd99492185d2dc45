import {
  type EventSourceMappingConfiguration,
  type FunctionConfiguration,
  GetFunctionConfigurationCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda'
import { type Access, call, refused } from './call.ts'
import { idsOf, readEach, type StackResource } from './resources.ts'

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
  /** Only Lambda's readers of streams tell it, such as `OK` or `PROBLEM: Function call failed`. */
  readonly lastResult?: string
}

const NOT_FOUND = 'ResourceNotFoundException'

const MAPPINGS_ON_A_PAGE = 100
/** Lambda allows an account 15 such reads a second. */
const READS_AT_ONCE = 4

/**
 * Reads the states of the functions of a stack, with one call for each.
 *
 * @throws BatonError `refused` when the credentials may not read them, `unavailable` when Lambda does not answer
 */
export async function readFunctions(
  resources: readonly StackResource[],
  access: Access,
): Promise<FunctionState[]> {
  const names = idsOf(resources, 'AWS::Lambda::Function')
  return readEach(names, READS_AT_ONCE, name => readFunction(name, access))
}

async function readFunction(name: string, access: Access): Promise<FunctionState> {
  const action = 'GetFunctionConfiguration'
  const command = new GetFunctionConfigurationCommand({ FunctionName: name })
  const answer = await call({ service: 'lambda', action }, access, settings =>
    new LambdaClient(settings).send(command),
  )
  if ('found' in answer) return functionStateOf(name, answer.found)
  if (answer.refusal.code === NOT_FOUND) return { name, state: 'Missing' }
  throw refused(`the state of the function ${name}`, `lambda:${action}`, answer.refusal, access)
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
 * Reads the states of the triggers of a stack. Lambda lists those of the whole account, 100 on a page, so the reading ends with the last one
 * of the stack.
 *
 * @throws BatonError `refused` when the credentials may not list them, `unavailable` when Lambda does not answer
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
    for (const { UUID: id = '', ...one } of page.EventSourceMappings ?? [])
      if (wanted.has(id)) found.set(id, triggerStateOf(id, one))
    marker = page.NextMarker
    if (!marker) break
  }
  return [...wanted].map(id => found.get(id) ?? { id, calls: '', reads: '', state: 'Missing' })
}

async function readMappings(marker: string | undefined, access: Access) {
  const action = 'ListEventSourceMappings'
  const command = new ListEventSourceMappingsCommand({ MaxItems: MAPPINGS_ON_A_PAGE, Marker: marker })
  const answer = await call({ service: 'lambda', action }, access, settings =>
    new LambdaClient(settings).send(command),
  )
  if ('found' in answer) return answer.found
  throw refused('the triggers of functions', `lambda:${action}`, answer.refusal, access)
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
