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

/** Creates the missing queues of the template, and sets the template's attributes on all of them. */
export async function createQueues(stack: Stack, gateway: Gateway) {
  for (const logicalId of stack.ids('AWS::SQS::Queue')) {
    const QueueName = nameOfArn(stack.describe(logicalId).arn)
    const attributes = queueAttributesOf(stack.properties(logicalId))
    const { FifoQueue, ...others } = attributes
    await gateway.call('deploy', 'sqs', 'CreateQueue', {
      QueueName,
      Attributes: FifoQueue ? { FifoQueue } : {},
    })
    // CreateQueue refuses a queue that has other values, and the queue may remain from an earlier start.
    await gateway.call('deploy', 'sqs', 'SetQueueAttributes', {
      QueueUrl: stack.describe(logicalId).physicalId,
      Attributes: others,
    })
  }
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
