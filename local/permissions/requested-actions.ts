import { arnOf } from '../account.ts'
import { bodyOf, type Call, textFields } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import type { Context } from './conditions.ts'
import { dynamoActions } from './dynamo-actions.ts'
import type { RequestedAction } from './policy.ts'

/** The actions that a call needs. The list is empty if no permission is known for the call. */
export type ActionsOf = (call: Call) => readonly RequestedAction[]

/** A batch needs the action of its entries. */
const SQS_ACTIONS: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
}

export function requestedActionsIn(stack: Stack): ActionsOf {
  const dynamo = dynamoActions(stack)
  const services: Readonly<Record<string, ActionsOf>> = {
    dynamodb: dynamo,
    sqs: sqsActions,
    scheduler: schedulerActions,
    events: eventsActions,
    secretsmanager: secretsActions,
    lambda: lambdaActions,
  }
  return call => services[call.service]?.(call) ?? []
}

function sqsActions({ operation, body }: Call): RequestedAction[] {
  const url = textFields(body, 'QueueUrl')[0]
  const name = url?.slice(url.lastIndexOf('/') + 1) ?? textFields(body, 'QueueName')[0]
  const resource = name === undefined ? undefined : arnOf('sqs', name)
  return [{ action: `sqs:${SQS_ACTIONS[operation] ?? operation}`, resource }]
}

/** A new schedule passes its role to Scheduler, so the call also needs `iam:PassRole`. */
function schedulerActions(call: Call): RequestedAction[] {
  const url = new URL(call.path, 'http://scheduler')
  const name = decodeURIComponent(url.pathname.split('/')[2] ?? '')
  const body = bodyOf(call) as { GroupName?: string; Target?: { RoleArn?: string } }
  const group = body.GroupName ?? url.searchParams.get('groupName') ?? 'default'
  const isForGroup = call.operation.includes('Group')
  const resource = isForGroup ? `schedule-group/${name}` : `schedule/${group}/${name}`
  const own = { action: `scheduler:${call.operation}`, resource: arnOf('scheduler', resource) }
  const role = body.Target?.RoleArn
  return role === undefined
    ? [own]
    : [own, { action: 'iam:PassRole', resource: role, context: passedToScheduler }]
}

const passedToScheduler: Context = key =>
  key.toLowerCase() === 'iam:passedtoservice' ? ['scheduler.amazonaws.com'] : undefined

function eventsActions(call: Call): RequestedAction[] {
  const { Entries = [] } = bodyOf(call) as { Entries?: ReadonlyArray<{ EventBusName?: string }> }
  const buses = new Set(Entries.map(({ EventBusName = 'default' }) => EventBusName))
  return [...buses].map(bus => ({
    action: `events:${call.operation}`,
    resource: bus.startsWith('arn:') ? bus : arnOf('events', `event-bus/${bus}`),
  }))
}

function secretsActions(call: Call): RequestedAction[] {
  const id = String(bodyOf(call).SecretId)
  // The ARN of a real secret ends in six random characters.
  const resource = id.startsWith('arn:') ? id : `${arnOf('secretsmanager', `secret:${id}`)}-local0`
  return [{ action: `secretsmanager:${call.operation}`, resource }]
}

/** Functions call Lambda only to invoke a function, so every call to it needs this one action. */
function lambdaActions({ path }: Call): RequestedAction[] {
  const named = /\/functions\/([^/?]+)\//.exec(path)?.[1]
  const name = decodeURIComponent(named ?? '')
  return [
    {
      action: 'lambda:InvokeFunction',
      resource: name.startsWith('arn:') ? name : arnOf('lambda', `function:${name}`),
    },
  ]
}
