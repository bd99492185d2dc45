import type { CloudFormationCustomResourceEvent, Context } from 'aws-lambda'
import type { TypeConfiguration } from '../shared/core/types/task-type.ts'
import {
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../shared/runtime/types/register-type.ts'
import { composeSystem } from './compose/compose.ts'

type TypeProperties = {
  readonly type: string
  readonly configuration: string
  /** Left out: a Lambda function. */
  readonly servedBy?: 'workers'
  /** Of a Lambda function: under which it claims. */
  readonly version?: string
}

const system = composeSystem()

/** The custom resource behind a deployed handler or flow: makes its type known, and marks it when the handler is gone. */
export async function handler(event: CloudFormationCustomResourceEvent, context: Context): Promise<void> {
  try {
    const { type, configuration, servedBy, version } = event.ResourceProperties as unknown as TypeProperties
    const parsed = JSON.parse(configuration) as TypeConfiguration
    if (parsed.kind === 'flow') await registerFlow(event.RequestType, type, parsed)
    else if (event.RequestType === 'Delete') await removeHandler(system, type)
    else await registerHandlerType(system, type, parsed, { servedBy, version })
    await answer(event, { Status: 'SUCCESS', PhysicalResourceId: `type-${type}` })
  } catch (error) {
    system.log.error('type not registered', { error })
    const PhysicalResourceId = 'PhysicalResourceId' in event ? event.PhysicalResourceId : context.awsRequestId
    // A stack must be deletable even when its table is gone already.
    const Status = event.RequestType === 'Delete' ? 'SUCCESS' : 'FAILED'
    await answer(event, { Status, PhysicalResourceId, Reason: String(error) })
  }
}

/** A flow that is deployed no more stays known, as every type does, and has no handler that could be gone. */
async function registerFlow(
  request: CloudFormationCustomResourceEvent['RequestType'],
  type: string,
  configuration: TypeConfiguration,
): Promise<void> {
  if (request !== 'Delete') await registerFlowType(system, type, configuration)
}

type Answer = { Status: 'SUCCESS' | 'FAILED'; PhysicalResourceId: string; Reason?: string }

/** CloudFormation waits up to an hour for this PUT, so its failure must not pass silently. */
async function answer(event: CloudFormationCustomResourceEvent, body: Answer): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = event
  const response = await fetch(event.ResponseURL, {
    method: 'PUT',
    headers: { 'content-type': '' },
    body: JSON.stringify({ ...body, StackId, RequestId, LogicalResourceId }),
  })
  if (!response.ok) throw new Error(`CloudFormation answered ${response.status}`)
}
