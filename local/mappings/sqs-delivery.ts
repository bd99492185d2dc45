import type { LocalFunction } from '../functions/functions.ts'
import { joinedTrace } from '../functions/lineage.ts'
import { readBatchFailures } from './batch-failures.ts'
import { type Pattern, passesFilters } from './event-pattern.ts'
import type { MappingState } from './mapping.ts'
import { filterView, type Message, recordOf } from './sqs-records.ts'

export type SqsDelivery = {
  readonly queueArn: string
  readonly filters: readonly Pattern[]
  readonly reportsItemFailures: boolean
  readonly target: LocalFunction
  readonly state: MappingState
  traceOf(messageId: string): string | undefined
  remove(messages: readonly Message[]): Promise<void>
}

/**
 * Invokes the function with one batch and deletes the messages that it handled. The others stay invisible until their visibility
 * timeout ends, as on AWS. Messages that the filters refuse are deleted without an invocation. A message whose chain is a loop is
 * refused at each receive, until the queue's redrive policy moves the message. Source: AWS Compute Blog, "Detecting and stopping
 * recursive loops in AWS Lambda functions".
 */
export async function deliverMessages(messages: readonly Message[], delivery: SqsDelivery) {
  const { filters, state, target, remove } = delivery
  const passed = messages.filter(message => passesFilters(filters, filterView(message)))
  await remove(messages.filter(message => !passed.includes(message)))
  const wanted = passed.filter(({ MessageId }) => !target.refuses(delivery.traceOf(MessageId)))
  if (wanted.length === 0) return

  const records = wanted.map(message =>
    recordOf(message, delivery.queueArn, delivery.traceOf(message.MessageId)),
  )
  if (state.dropped?.(records)) return remove(wanted)

  const trace = joinedTrace(records.map(({ attributes }) => attributes.AWSTraceHeader))
  let handled = wanted
  for (let round = 0; round < state.deliveries; round += 1) {
    const result = await target.invoke({ Records: records }, trace)
    handled = result.ok ? handledOf(handled, result.payload, delivery) : []
  }
  await remove(handled)
}

function handledOf(messages: readonly Message[], answer: unknown, { reportsItemFailures }: SqsDelivery) {
  if (!reportsItemFailures) return [...messages]
  const outcome = readBatchFailures(answer, new Set(messages.map(({ MessageId }) => MessageId)))
  if (outcome.kind === 'all-succeeded') return [...messages]
  if (outcome.kind === 'all-failed') return []
  return messages.filter(({ MessageId }) => !outcome.identifiers.has(MessageId))
}
