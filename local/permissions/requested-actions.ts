import { arnOf } from '../account.ts'
import { bodyOf, type Call, readSchedulerCall } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import { dynamoActions } from './dynamo-actions.ts'
import { type Context, EVERYTHING, type RequestedAction } from './policy.ts'

/** The actions that a call needs. The list is empty only for services that the local cloud does not serve. */
type ActionsOf = (call: Call) => readonly RequestedAction[]

/** A batch needs the action of its entries. */
const SQS_ACTIONS: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
}

export function requestedActionsIn(stack: Stack): ActionsOf {
  const services: Readonly<Record<string, ActionsOf>> = {
    dynamodb: dynamoActions(stack),
    sqs: sqsActions,
    scheduler: schedulerActions,
    events: eventsActions,
    secretsmanager: secretsActions,
    lambda: lambdaActions,
  }
  return call => {
    try {
      return services[call.service]?.(call) ?? []
    } catch {
      return [{ action: `${call.service}:${call.operation}`, resource: EVERYTHING }]
    }
  }
}

/** The operations that name their queue by its name. All others give its URL. */
const BY_QUEUE_NAME = new Set(['CreateQueue', 'GetQueueUrl'])

function sqsActions(call: Call): RequestedAction[] {
  const { QueueUrl, QueueName } = bodyOf(call)
  const given = BY_QUEUE_NAME.has(call.operation) ? QueueName : QueueUrl
  const name = typeof given === 'string' ? given.split('/').filter(Boolean).at(-1) : undefined
  const resource = name === undefined ? EVERYTHING : arnOf('sqs', name)
  return [{ action: `sqs:${SQS_ACTIONS[call.operation] ?? call.operation}`, resource }]
}

/** A new schedule passes its role to Scheduler, so the call also needs `iam:PassRole`. */
function schedulerActions(call: Call): RequestedAction[] {
  const { name, group, body } = readSchedulerCall(call)
  const isForGroup = call.operation.includes('Group')
  const resource = isForGroup ? `schedule-group/${name}` : `schedule/${group}/${name}`
  const own = {
    action: `scheduler:${call.operation}`,
    resource: name === '' ? EVERYTHING : arnOf('scheduler', resource),
  }
  const role = body.Target?.RoleArn
  if (role === undefined) return [own]
  return [own, { action: 'iam:PassRole', resource: role, context: passedToScheduler }]
}

const passedToScheduler: Context = key =>
  key.toLowerCase() === 'iam:passedtoservice' ? ['scheduler.amazonaws.com'] : undefined

function eventsActions(call: Call): RequestedAction[] {
  const { Entries } = bodyOf(call)
  const entries: ReadonlyArray<{ EventBusName?: string } | null> = Array.isArray(Entries) ? Entries : []
  const buses = new Set(entries.map(entry => entry?.EventBusName ?? 'default'))
  const action = `events:${call.operation}`
  if (call.operation !== 'PutEvents' || buses.size === 0) return [{ action, resource: EVERYTHING }]
  return [...buses].map(bus => ({
    action,
    resource: arnIn(bus, name => arnOf('events', `event-bus/${name}`)),
  }))
}

function secretsActions(call: Call): RequestedAction[] {
  const action = `secretsmanager:${call.operation}`
  const id = bodyOf(call).SecretId
  if (typeof id !== 'string') return [{ action, resource: EVERYTHING }]
  // The ARN of a real secret ends in six random characters.
  return [{ action, resource: arnIn(id, name => `${arnOf('secretsmanager', `secret:${name}`)}-local0`) }]
}

function lambdaActions({ method, path, operation }: Call): RequestedAction[] {
  const invoked = method === 'POST' ? /\/functions\/([^/?]+)\/invocations/.exec(path)?.[1] : undefined
  if (invoked === undefined) return [{ action: `lambda:${operation}`, resource: EVERYTHING }]
  const resource = arnIn(decodeURIComponent(invoked), name => arnOf('lambda', `function:${name}`))
  return [{ action: 'lambda:InvokeFunction', resource }]
}

/** A call names a resource by its ARN or by its name. */
function arnIn(given: string, arnOfName: (name: string) => string): string {
  return given.startsWith('arn:') ? given : arnOfName(given)
}
