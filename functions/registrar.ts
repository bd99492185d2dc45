import type { CloudFormationCustomResourceEvent, Context } from 'aws-lambda'
import type { TypeConfiguration } from '../shared/core/types/task-type.ts'
import {
  bindType,
  registerFlowType,
  registerHandlerType,
  removeHandler,
} from '../shared/runtime/types/types.ts'
import { deploySchedule, removeDeployedSchedule } from '../shared/service/deploy-schedule.ts'
import { composeSystem } from './compose/compose.ts'

type TypeProperties = {
  readonly type: string
  readonly configuration: string
  /** What serves the type. Absent for a Lambda function. */
  readonly servedBy?: 'workers'
  /** The version under which a Lambda function claims. */
  readonly version?: string
}

type ScheduleProperties = { readonly schedule: string; readonly body: string }

const system = composeSystem()

/**
 * Serves the custom resources of a system. For a handler or flow it registers the type, and records when the handler of a type is
 * deleted. It binds types, and it creates, changes and removes the schedules in code.
 */
export async function handler(event: CloudFormationCustomResourceEvent, context: Context): Promise<void> {
  try {
    const serve = SERVED[event.ResourceType] ?? keepType
    await answer(event, { Status: 'SUCCESS', PhysicalResourceId: await serve(event) })
  } catch (error) {
    system.log.error('what was deployed was not registered or removed', { error })
    const PhysicalResourceId = 'PhysicalResourceId' in event ? event.PhysicalResourceId : context.awsRequestId
    // A stack must be deletable even after its table was deleted.
    const Status = event.RequestType === 'Delete' ? 'SUCCESS' : 'FAILED'
    await answer(event, { Status, PhysicalResourceId, Reason: String(error) })
  }
}

/** What serves each custom resource that is not a type. It returns the id of the resource. */
const SERVED: Readonly<Record<string, (event: CloudFormationCustomResourceEvent) => Promise<string>>> = {
  'Custom::BatonSchedule': keepSchedule,
  'Custom::BatonOtherTypes': bindTypes,
}

async function keepType({
  RequestType,
  ResourceProperties,
}: CloudFormationCustomResourceEvent): Promise<string> {
  const { type, configuration, servedBy, version } = ResourceProperties as unknown as TypeProperties
  const parsed = JSON.parse(configuration) as TypeConfiguration
  if (RequestType === 'Delete') await removeHandler(system, type, parsed.kind)
  else if (parsed.kind === 'flow') await registerFlowType(system, type, parsed)
  else await registerHandlerType(system, type, parsed, { servedBy, version })
  return `type-${type}`
}

/** Sets or removes a schedule in code, for the stack of the request. */
async function keepSchedule(event: CloudFormationCustomResourceEvent): Promise<string> {
  const { schedule, body } = event.ResourceProperties as unknown as ScheduleProperties
  const [, stack = ''] = event.StackId.split('/')
  if (event.RequestType === 'Delete') await removeDeployedSchedule(system, schedule, stack)
  else await deploySchedule(system, schedule, JSON.parse(body), stack)
  return `schedule-${schedule}`
}

/** Binds the types that the resource names, and frees those that only the former resource named. */
async function bindTypes(event: CloudFormationCustomResourceEvent): Promise<string> {
  const typesIn = (properties: object): Record<string, string[]> =>
    'otherTypes' in properties ? JSON.parse(String(properties.otherTypes)) : {}
  const named = typesIn(event.ResourceProperties)
  const former = event.RequestType === 'Update' ? typesIn(event.OldResourceProperties) : {}
  const present = event.RequestType === 'Delete' ? {} : named
  for (const type of Object.keys({ ...former, ...named })) await bindType(system, type, present[type])
  return 'other-types'
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
