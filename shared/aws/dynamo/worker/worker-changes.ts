import type { WorkerChange } from '../../../core/events/events.ts'
import type { AttributeValue } from '../attribute-values.ts'
import { WORKERS_PARTITION } from '../keys.ts'

/** The members of a stream record that this file reads. `ApproximateCreationDateTime` is in seconds since the epoch. */
type StreamRecord = {
  readonly eventName?: string | undefined
  readonly dynamodb?:
    | {
        readonly Keys?: Readonly<Record<string, AttributeValue>> | undefined
        readonly NewImage?: Readonly<Record<string, AttributeValue>> | undefined
        readonly SequenceNumber?: string | undefined
        readonly ApproximateCreationDateTime?: number | undefined
      }
    | undefined
}

/** The change that a record shows: a worker joined or left the registry. Undefined for all other records, such as a sign of life. */
export function workerChangeIn({ eventName, dynamodb = {} }: StreamRecord): WorkerChange | undefined {
  const { Keys, NewImage, SequenceNumber: position = '', ApproximateCreationDateTime = 0 } = dynamodb
  const workerId = Keys?.sk?.S
  if (Keys?.pk?.S !== WORKERS_PARTITION || workerId === undefined) return undefined
  if (eventName === 'INSERT') {
    return { type: 'worker.joined', workerId, at: Number(NewImage?.seen?.N ?? 0), position }
  }
  if (eventName !== 'REMOVE') return undefined
  return { type: 'worker.left', workerId, at: Math.round(ApproximateCreationDateTime * 1_000), position }
}
