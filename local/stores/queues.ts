import { nameOfArn } from '../account.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'

const settable = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageRetentionPeriod',
  'MaximumMessageSize',
  'ReceiveMessageWaitTimeSeconds',
  'RedrivePolicy',
  'FifoQueue',
  'ContentBasedDeduplication',
] as const

/** Makes sure that every queue of the template exists with the template's attributes. */
export async function createQueues(stack: Stack, gateway: Gateway) {
  for (const logicalId of stack.ids('AWS::SQS::Queue')) {
    const QueueName = nameOfArn(stack.describe(logicalId).arn)
    const attributes = queueAttributesOf(stack.properties(logicalId))
    const { FifoQueue, ...changeable } = attributes
    await gateway.call('deploy', 'sqs', 'CreateQueue', {
      QueueName,
      Attributes: FifoQueue ? { FifoQueue } : {},
    })
    // Set apart from creation, because a kept queue may have had other values.
    await gateway.call('deploy', 'sqs', 'SetQueueAttributes', {
      QueueUrl: stack.describe(logicalId).physicalId,
      Attributes: changeable,
    })
  }
}

/** The template's properties as SQS attributes, which are all strings. */
function queueAttributesOf(properties: Record<string, unknown>): Record<string, string> {
  const present = settable.filter(name => properties[name] !== undefined)
  return Object.fromEntries(
    present.map(name => {
      const value = properties[name]
      return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]
    }),
  )
}
