import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { StateFile } from './data-folder/state-file.ts'
import type { Functions } from './functions/functions.ts'
import type { Gateway } from './gateway/gateway.ts'
import { isRecord } from './template/intrinsics.ts'
import type { Stack } from './template/stack.ts'

/** CloudFormation waits an hour for an answer. At a terminal a minute is long enough. */
const ANSWER_TIMEOUT_MS = 60_000

const RESPONSE_PATH = '/custom-resource-responses/'

/** The deployed custom resources, by logical id. */
export type KeptResources = Record<string, Deployed>

type Deployed = {
  readonly type: string
  readonly properties: Record<string, unknown>
  readonly physicalId: string
  readonly data: Record<string, unknown>
}

type Response = {
  readonly Status: 'SUCCESS' | 'FAILED'
  readonly Reason?: string
  readonly PhysicalResourceId?: string
  readonly Data?: Record<string, unknown>
}

type Parts = {
  readonly gateway: Gateway
  readonly functions: Functions
  readonly state: StateFile<KeptResources>
  readonly log: (line: string) => void
}

type Change = {
  readonly RequestType: 'Create' | 'Update' | 'Delete'
  readonly logicalId: string
  readonly type: string
  readonly properties: Record<string, unknown>
  readonly before?: Deployed
}

const isCustom = (type: string) =>
  type.startsWith('Custom::') || type === 'AWS::CloudFormation::CustomResource'

/**
 * Deploys the custom resources of the template. It creates new ones, updates those with changed properties, and deletes those that
 * the template no longer has. Throws when one of them answers FAILED.
 */
export async function deployCustomResources(stack: Stack, parts: Parts) {
  const answers = awaitAnswers(parts.gateway)
  const { state } = parts

  const wanted = dependenciesFirst(stack, stack.ids(isCustom))
  for (const logicalId of wanted) {
    const { Type: type } = stack.resource(logicalId)
    const properties = asTexts(stack.properties(logicalId)) as Record<string, unknown>
    const before = state.read()[logicalId]
    const unchanged = before !== undefined && isDeepStrictEqual(before.properties, properties)
    const deployed = unchanged ? before : await deploy(logicalId, type, properties, before)
    stack.learn(logicalId, { physicalId: deployed.physicalId, attributes: deployed.data })
    state.write({ ...state.read(), [logicalId]: deployed })
  }
  await deleteGone(wanted)

  async function deploy(
    logicalId: string,
    type: string,
    properties: Record<string, unknown>,
    before?: Deployed,
  ) {
    const change: Change = { RequestType: before ? 'Update' : 'Create', logicalId, type, properties }
    const response = await request({ ...change, ...(before ? { before } : {}) })
    const physicalId = response.PhysicalResourceId ?? before?.physicalId ?? logicalId
    return { type, properties, physicalId, data: response.Data ?? {} }
  }

  async function deleteGone(kept: readonly string[]) {
    for (const [logicalId, before] of Object.entries(state.read())) {
      if (kept.includes(logicalId)) continue
      const { type, properties } = before
      // A failed delete is only logged, as in the clean-up phase of a deployment.
      await request({ RequestType: 'Delete', logicalId, type, properties, before }).catch(cause =>
        parts.log(`${logicalId} could not be deleted: ${cause}`),
      )
      const { [logicalId]: _gone, ...rest } = state.read()
      state.write(rest)
    }
  }

  async function request(change: Change): Promise<Response> {
    const { id, response, forget } = answers.expect()
    const event = eventOf(change, stack, id, `${parts.gateway.url}${RESPONSE_PATH}${id}`)
    const invoked = parts.functions.find(String(change.properties.ServiceToken)).invoke(event)
    // CloudFormation would wait for the answer until its timeout when the function fails. Here the deployment fails at once.
    const failed = invoked.then(result => (result.ok ? response : failure(result.error.errorMessage)))
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
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, asTexts(entry)]))
  }
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
