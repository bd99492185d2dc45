import type { CloudFormationCustomResourceEvent, Context } from 'aws-lambda'
import type { TypeConfiguration } from '../shared/core/types/task-type.ts'
import {
  bindType,
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../shared/runtime/types/types.ts'
import { composeSystem } from './compose/compose.ts'

type TypeProperties = {
  readonly type: string
  readonly configuration: string
  /** What serves the type. Absent for a Lambda function. */
  readonly servedBy?: 'workers'
  /** The version under which a Lambda function claims. */
  readonly version?: string
}

const system = composeSystem()

/** Serves the custom resources: registers the type of a handler or flow, records when a handler is deleted, and binds types. */
export async function handler(event: CloudFormationCustomResourceEvent, context: Context): Promise<void> {
  try {
    if (event.ResourceType === 'Custom::BatonOtherTypes') {
      await bindTypes(event)
      return await answer(event, { Status: 'SUCCESS', PhysicalResourceId: 'other-types' })
    }
    const { type, configuration, servedBy, version } = event.ResourceProperties as unknown as TypeProperties
    const parsed = JSON.parse(configuration) as TypeConfiguration
    if (event.RequestType === 'Delete') await removeHandler(system, type, parsed.kind)
    else if (parsed.kind === 'flow') await registerFlowType(system, type, parsed)
    else await registerHandlerType(system, type, parsed, { servedBy, version })
    await answer(event, { Status: 'SUCCESS', PhysicalResourceId: `type-${type}` })
  } catch (error) {
    system.log.error('a deployed type was not registered or removed', { error })
    const PhysicalResourceId = 'PhysicalResourceId' in event ? event.PhysicalResourceId : context.awsRequestId
    // A stack must be deletable even after its table was deleted.
    const Status = event.RequestType === 'Delete' ? 'SUCCESS' : 'FAILED'
    await answer(event, { Status, PhysicalResourceId, Reason: String(error) })
  }
}

/** Binds the types that the resource names, and frees those that only the former resource named. */
async function bindTypes(event: CloudFormationCustomResourceEvent): Promise<void> {
  const typesIn = (properties: object): Record<string, string[]> =>
    'otherTypes' in properties ? JSON.parse(String(properties.otherTypes)) : {}
  const named = typesIn(event.ResourceProperties)
  const former = event.RequestType === 'Update' ? typesIn(event.OldResourceProperties) : {}
  const present = event.RequestType === 'Delete' ? {} : named
  for (const type of Object.keys({ ...former, ...named })) await bindType(system, type, present[type])
}

type Answer = { Status: 'SUCCESS' | 'FAILED'; PhysicalResourceId: string; Reason?: string }

/** CloudFormation waits up to 5 minutes for this PUT (`REGISTRATION_WAIT_S`), so a failed PUT must throw. */
async function answer(event: CloudFormationCustomResourceEvent, body: Answer): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = event
  const response = await fetch(event.ResponseURL, {
    method: 'PUT',
    headers: { 'content-type': '' },
    body: JSON.stringify({ ...body, StackId, RequestId, LogicalResourceId }),
  })
  if (!response.ok)
    throw new Error(`CloudFormation answered ${response.status} to the result of ${LogicalResourceId}`)
}
