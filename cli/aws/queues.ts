import { type Access, refused } from './call.ts'
import { callTarget } from './json-call.ts'
import { readEach } from './read-each.ts'
import { idsOf, type StackResource } from './resources.ts'

/** What SQS says about a queue of the stack. The numbers are approximate. */
export type QueueState = {
  readonly name: string
  /** Whether there is such a queue. */
  readonly exists: boolean
  /** Messages that wait for a receiver. */
  readonly waiting: number
  /** Messages that a receiver holds. */
  readonly held: number
  /** Whether another queue of the stack gives messages up to it. */
  readonly takesDeadLetters: boolean
}

type Attributes = {
  readonly QueueArn?: string
  readonly ApproximateNumberOfMessages?: string
  readonly ApproximateNumberOfMessagesNotVisible?: string
  readonly RedrivePolicy?: string
}

const ATTRIBUTES = [
  'QueueArn',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'RedrivePolicy',
]
const READS_AT_ONCE = 10

/**
 * Reads how many messages the queues of a stack have, with one call for each.
 *
 * @throws BatonError `refused` when the credentials may not read them, `unavailable` when SQS does not answer
 */
export async function readQueues(resources: readonly StackResource[], access: Access): Promise<QueueState[]> {
  const urls = idsOf(resources, 'AWS::SQS::Queue')
  const read = await readEach(urls, READS_AT_ONCE, async url => [url, await readQueue(url, access)] as const)
  const deadLetterArns = new Set(read.flatMap(([, attributes]) => deadLetterArnIn(attributes)))
  return read.map(([url, attributes]) => ({
    name: url.split('/').at(-1) ?? url,
    exists: attributes !== undefined,
    waiting: Number(attributes?.ApproximateNumberOfMessages ?? 0),
    held: Number(attributes?.ApproximateNumberOfMessagesNotVisible ?? 0),
    takesDeadLetters: deadLetterArns.has(attributes?.QueueArn ?? ''),
  }))
}

async function readQueue(url: string, access: Access): Promise<Attributes | undefined> {
  const input = { QueueUrl: url, AttributeNames: ATTRIBUTES }
  const answer = await callTarget<{ readonly Attributes: Attributes }>(
    { service: 'sqs', target: 'AmazonSQS.GetQueueAttributes', protocol: '1.0', input },
    access,
  )
  if ('found' in answer) return answer.found.Attributes
  if (/QueueDoesNotExist|NonExistentQueue/.test(answer.refusal.code)) return undefined
  throw refused(`the queue ${url}`, 'sqs:GetQueueAttributes', answer.refusal, access)
}

function deadLetterArnIn(attributes: Attributes | undefined): string[] {
  if (!attributes?.RedrivePolicy) return []
  const { deadLetterTargetArn } = JSON.parse(attributes.RedrivePolicy) as {
    readonly deadLetterTargetArn?: string
  }
  return deadLetterTargetArn === undefined ? [] : [deadLetterTargetArn]
}
