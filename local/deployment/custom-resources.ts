/** CloudFormation's side of custom resources: it creates, updates and deletes them by calls of their functions. */

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { KeptResource, KeptResources, StateFile } from '../data-folder.ts'
import type { InvocationResult } from '../functions/sandbox.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isRecord } from '../template/intrinsics.ts'
import { isCustomResource, type Stack } from '../template/stack.ts'

/** CloudFormation waits an hour for an answer. At a terminal a minute is long enough. */
const ANSWER_TIMEOUT_MS = 60_000

const RESPONSE_PATH = '/custom-resource-responses/'

type Response = {
  readonly Status: 'SUCCESS' | 'FAILED'
  readonly Reason?: string
  readonly PhysicalResourceId?: string
  readonly Data?: Record<string, unknown>
}

type Parts = {
  readonly gateway: Gateway
  /** Invokes a function of the stack that is being deployed. */
  invokeNext(functionName: string, event: unknown): Promise<InvocationResult>
  /** Invokes a function of the present deployment; undefined if it has none of this name. */
  invokePresent(functionName: string, event: unknown): Promise<InvocationResult> | undefined
  readonly state: StateFile<KeptResources>
  readonly log: (line: string) => void
}

type Change = {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly logicalId: string
  readonly type: string
  readonly properties: Record<string, unknown>
  readonly before?: KeptResource
}

type Deployment = {
  readonly stack: Stack
  readonly parts: Parts
  readonly request: ReturnType<typeof requester>
  readonly initial: KeptResources
  /** The changes that were asked for, in order. */
  readonly begun: Change[]
  readonly wanted: readonly string[]
}

/**
 * Deploys the custom resources of a stack: it creates new ones and updates those with changed properties. When one of them answers
 * FAILED, all changed ones are returned to what they were, and the promise rejects.
 */
export async function deployCustomResources(stack: Stack, parts: Parts) {
  const deployment: Deployment = {
    ...{ stack, parts, request: requester(stack, parts), initial: parts.state.read(), begun: [] },
    wanted: dependenciesFirst(stack, stack.ids(isCustomResource)),
  }
  try {
    for (const logicalId of deployment.wanted) await deploy(deployment, logicalId)
  } catch (cause) {
    await undo(deployment)
    throw cause
  }
  return {
    /** Deletes those that the stack no longer has. A failed delete is only logged, as in the clean-up phase of a deployment. */
    cleanUp: () => cleanUp(deployment),
    /** Returns all to what they were, as far as they let it happen: a failure is logged. */
    undo: () => undo(deployment),
  }
}

async function deploy(deployment: Deployment, logicalId: string): Promise<void> {
  const { stack } = deployment
  const { state } = deployment.parts
  const { Type: type } = stack.resource(logicalId)
  const properties = asTexts(stack.properties(logicalId)) as Record<string, unknown>
  const before = state.read()[logicalId]
  const isUnchanged = before !== undefined && isDeepStrictEqual(before.properties, properties)
  const deployed = isUnchanged ? before : await change(deployment, { logicalId, type, properties }, before)
  stack.learn(logicalId, { physicalId: deployed.physicalId, attributes: deployed.data })
  state.write({ ...state.read(), [logicalId]: deployed })
}

async function change(
  { begun, request, parts }: Deployment,
  wanted: Pick<Change, 'logicalId' | 'type' | 'properties'>,
  before?: KeptResource,
): Promise<KeptResource> {
  const change: Change = {
    RequestType: before ? 'Update' : 'Create',
    ...wanted,
    ...(before && { before }),
  }
  begun.push(change)
  const response = await request(change, parts.invokeNext)
  const physicalId = response.PhysicalResourceId ?? before?.physicalId ?? wanted.logicalId
  const { type, properties } = wanted
  return { type, properties, physicalId, data: response.Data ?? {} }
}

async function undo(deployment: Deployment): Promise<void> {
  const { begun, initial, parts } = deployment
  for (const { logicalId, type, properties, before } of begun.splice(0).reverse()) {
    const now = parts.state.read()[logicalId] ?? { type, properties, physicalId: logicalId, data: {} }
    const back = before
      ? { RequestType: 'Update' as const, properties: before.properties, before: { ...now, properties } }
      : { RequestType: 'Delete' as const, properties, before: now }
    await attempt(deployment, { logicalId, type, ...back })
  }
  parts.state.write(initial)
}

async function cleanUp(deployment: Deployment): Promise<void> {
  const { state } = deployment.parts
  for (const [logicalId, before] of Object.entries(state.read())) {
    if (deployment.wanted.includes(logicalId)) continue
    const { type, properties } = before
    await attempt(deployment, { RequestType: 'Delete', logicalId, type, properties, before })
    const { [logicalId]: _gone, ...rest } = state.read()
    state.write(rest)
  }
}

async function attempt({ request, parts }: Deployment, change: Change): Promise<void> {
  const invoke = (name: string, event: unknown) =>
    parts.invokePresent(name, event) ?? parts.invokeNext(name, event)
  await request(change, invoke).catch((cause: Error) => parts.log(cause.message))
}

type Invoke = Parts['invokeNext']

/** Sends a request to the function of a custom resource and waits for the answer. Throws when the answer is not a success. */
function requester(stack: Stack, { gateway }: Parts) {
  const answers = awaitAnswers(gateway)
  return async (change: Change, invoke: Invoke): Promise<Response> => {
    const { id, response, forget } = answers.expect()
    const event = eventOf(change, stack, id, `${gateway.url}${RESPONSE_PATH}${id}`)
    const invoked = invoke(String(change.properties.ServiceToken), event)
    // CloudFormation would wait for the answer until its timeout when the function fails. Here the deployment fails at once.
    const failed = invoked.then(
      result => (result.ok ? response : failure(result.error.errorMessage)),
      (cause: Error) => failure(cause.message),
    )
    const answer = await Promise.race([response, failed, answers.timeOut()])
    forget()
    if (answer.Status === 'SUCCESS') return answer
    throw new Error(`${change.logicalId} (${change.type}) failed to ${change.RequestType}: ${answer.Reason}`)
  }
}

const failure = (Reason: string): Response => ({ Status: 'FAILED', Reason })

function awaitAnswers(gateway: Gateway) {
  const expected = new Map<string, (response: Response) => void>()
  gateway.route(RESPONSE_PATH, (path, body) => {
    const id = path.slice(RESPONSE_PATH.length)
    expected.get(id)?.(JSON.parse(body.toString('utf8')) as Response)
  })
  return {
    expect: () => {
      const id = randomUUID()
      const { promise: response, resolve } = Promise.withResolvers<Response>()
      expected.set(id, resolve)
      return { id, response, forget: () => expected.delete(id) }
    },
    timeOut: () =>
      new Promise<Response>(resolve => {
        const answer = failure(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)
        setTimeout(() => resolve(answer), ANSWER_TIMEOUT_MS).unref()
      }),
  }
}

function eventOf(change: Change, stack: Stack, requestId: string, responseUrl: string) {
  return {
    RequestType: change.RequestType,
    ServiceToken: change.properties.ServiceToken,
    ResponseURL: responseUrl,
    StackId: stack.id,
    RequestId: requestId,
    LogicalResourceId: change.logicalId,
    ResourceType: change.type,
    ResourceProperties: change.properties,
    ...(change.before ? { PhysicalResourceId: change.before.physicalId } : {}),
    ...(change.RequestType === 'Update' ? { OldResourceProperties: change.before?.properties } : {}),
  }
}

// CloudFormation gives numbers and booleans to custom resources as strings.
function asTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asTexts)
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, asTexts(entry)]))
  return String(value)
}

/** Sorts the ids so that each resource follows those that it depends on, by `DependsOn` or by reference. */
function dependenciesFirst(stack: Stack, ids: readonly string[]): string[] {
  const ordered: string[] = []
  const visit = (logicalId: string) => {
    if (ordered.includes(logicalId)) return
    const text = JSON.stringify(stack.resource(logicalId))
    for (const other of ids) if (other !== logicalId && text.includes(`"${other}"`)) visit(other)
    ordered.push(logicalId)
  }
  for (const logicalId of ids) visit(logicalId)
  return ordered
}
