import { nameOfArn } from '../account.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'

/** The properties that SQS takes as attributes of the same name. */
const COPIED_PROPERTIES = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageRetentionPeriod',
  'MaximumMessageSize',
  'ReceiveMessageWaitTimeSeconds',
  'RedrivePolicy',
  'FifoQueue',
  'ContentBasedDeduplication',
] as const

/** What a queue has when its stack says nothing. A property that the stack has lost returns to this value. */
const DEFAULT_ATTRIBUTES: Readonly<Record<string, string>> = {
  VisibilityTimeout: '30',
  DelaySeconds: '0',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  RedrivePolicy: '',
}

/** Creates the missing queues of a stack, and sets its attributes on all of them. `created` gets the addresses of new queues. */
export async function deployQueues(stack: Stack, gateway: Gateway, created: string[]): Promise<void> {
  for (const logicalId of stack.ids('AWS::SQS::Queue')) {
    const QueueName = nameOfArn(stack.describe(logicalId).arn)
    const { FifoQueue, ...attributes } = queueAttributesOf(stack.properties(logicalId))
    const QueueUrl = stack.describe(logicalId).physicalId
    if (!(await exists(gateway, QueueName))) {
      const Attributes = FifoQueue ? { FifoQueue } : {}
      await gateway.call('deploy', 'sqs', 'CreateQueue', { QueueName, Attributes })
      created.push(QueueUrl)
    }
    // CreateQueue refuses a queue that has other values, and the queue may remain from an earlier start.
    const Attributes = { ...DEFAULT_ATTRIBUTES, ...attributes }
    await gateway.call('deploy', 'sqs', 'SetQueueAttributes', { QueueUrl, Attributes }).catch(cause => {
      throw new Error(`The queue ${logicalId} cannot have its attributes: ${cause.message}`, { cause })
    })
  }
}

export async function deleteQueues(urls: readonly string[], gateway: Gateway): Promise<void> {
  for (const QueueUrl of urls) await gateway.call('deploy', 'sqs', 'DeleteQueue', { QueueUrl })
}

async function exists(gateway: Gateway, QueueName: string): Promise<boolean> {
  const found = gateway.call('deploy', 'sqs', 'GetQueueUrl', { QueueName })
  return found.then(
    () => true,
    () => false,
  )
}

/** The SQS attributes for the template's properties. All are strings. */
function queueAttributesOf(properties: Record<string, unknown>): Record<string, string> {
  const given = COPIED_PROPERTIES.filter(name => properties[name] !== undefined)
  return Object.fromEntries(
    given.map(name => {
      const value = properties[name]
      return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]
    }),
  )
}
