import { ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs'
import { expect } from 'vitest'
import type { LocalSystem } from './local-system.ts'

/** The queues of a local system. A queue is named by parts of its logical id. */
export function queuesOf(system: LocalSystem) {
  const queue = (...parts: readonly string[]) => {
    const all = Object.entries(system.cloud.resources).filter(([, { type }]) => type === 'AWS::SQS::Queue')
    const found = all.filter(([id]) => parts.every(part => id.includes(part)))
    const [only, second] = found
    if (!only || second) throw new Error(`no single queue ${parts.join(' ')}: ${found.map(([id]) => id)}`)
    return only[1]
  }
  const messagesIn = (...parts: readonly string[]) => system.cloud.inspectQueue(queue(...parts).arn).messages
  const inDeadLetterQueue = (text: string) =>
    messagesIn('DeadLetters').filter(({ body }) => body.includes(text))
  /** Receives the messages of a queue so often that SQS gives up the one with this text. */
  const giveUp = async (sqs: SQSClient, text: string, ...parts: readonly string[]): Promise<void> => {
    const QueueUrl = queue(...parts).physicalId
    const receive = new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 0, MaxNumberOfMessages: 10 })
    await expect
      .poll(
        async () => {
          await sqs.send(receive)
          return inDeadLetterQueue(text).length
        },
        { interval: 20 },
      )
      .toBeGreaterThan(0)
  }
  return { queue, messagesIn, inDeadLetterQueue, giveUp }
}
