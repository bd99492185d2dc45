import { SQSClient } from '@aws-sdk/client-sqs'
import { createTaskCodec } from '../../shared/aws/dynamo/head/task-codec.ts'
import { requiredVariable, systemOfEnvironment } from '../../shared/aws/environment.ts'
import { withConnectionQueue } from '../../shared/aws/requests.ts'
import { createSqsDeadLetterQueue } from '../../shared/aws/sqs/dead-letter-queue.ts'
import type { DeadLetterQueue } from '../../shared/ports/messages.ts'
import { composeHeadReader } from './compose.ts'

/** Composes the queue of dead letters for the function that empties it. Other functions do not load this file. */
export function composeDeadLetterQueue(): DeadLetterQueue {
  return createSqsDeadLetterQueue(
    withConnectionQueue(requestHandler => new SQSClient({ requestHandler })),
    {
      queueUrl: requiredVariable('BATON_DEAD_LETTER_QUEUE_URL'),
      names: systemOfEnvironment(),
      codec: createTaskCodec(composeHeadReader()),
    },
  )
}
