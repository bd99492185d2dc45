import { SQSClient } from '@aws-sdk/client-sqs'
import { createTaskCodec } from '../../shared/aws/dynamo/head/head-reader.ts'
import { createDeadLetterStore } from '../../shared/aws/dynamo/stores/dead-letter-store.ts'
import { requiredVariable, systemClock, systemOfEnvironment } from '../../shared/aws/environment.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createSqsDeadLetterQueue, createSqsResender } from '../../shared/aws/sqs/dead-letter-queue.ts'
import { createDocuments } from '../../shared/aws/system.ts'
import type { DeadLetterQueue } from '../../shared/ports/messages.ts'
import type { DeadLetterStore } from '../../shared/ports/stores.ts'
import type { DiagnosticSystem } from '../../shared/runtime/kernel/system.ts'
import { composeHeadReader, composeSystem } from './compose.ts'
import { composeActivityStore } from './compose-activity.ts'

/** Composes the system of a function that shows activity, explains dead letters and sends them again. Other functions do not load this file. */
export function composeDiagnosticSystem(): DiagnosticSystem {
  const resender = createSqsResender(createSqs(), systemOfEnvironment())
  const [activity, deadLetters] = [composeActivityStore(), composeDeadLetterStore()]
  return { ...composeSystem(), activity, deadLetters, resender }
}

export function composeDeadLetterStore(): DeadLetterStore {
  const { table } = systemOfEnvironment()
  return createDeadLetterStore(createDocuments(), { table, clock: systemClock })
}

/** Composes the queue of dead letters for the function that empties it. */
export function composeDeadLetterQueue(): DeadLetterQueue {
  return createSqsDeadLetterQueue(createSqs(), {
    queueUrl: requiredVariable('BATON_DEAD_LETTER_QUEUE_URL'),
    names: systemOfEnvironment(),
    codec: createTaskCodec(composeHeadReader()),
  })
}

function createSqs(): SQSClient {
  return withConnectionQueue(requestHandler => new SQSClient({ requestHandler }))
}
