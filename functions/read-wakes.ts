import type { SQSEvent } from 'aws-lambda'
import { decodeWake } from '../shared/aws/sqs/wire.ts'
import type { LateEvents, Wake } from '../shared/ports/messages.ts'
import type { System } from '../shared/runtime/kernel/system.ts'

type ReceivedWakes = {
  readonly wakes: ReadonlyArray<{ readonly messageId: string; readonly wake: Wake }>
  readonly lateEvents: ReadonlyArray<{ readonly messageId: string; readonly late: LateEvents }>
}

/** Reads the messages of a batch of the wake queue or the jobs queue. It logs and drops a message that it cannot read. */
export function readWakes(system: Pick<System, 'log'>, { Records }: SQSEvent): ReceivedWakes {
  const wakes: Array<ReceivedWakes['wakes'][number]> = []
  const lateEvents: Array<ReceivedWakes['lateEvents'][number]> = []
  for (const { messageId, body } of Records) {
    try {
      const wake = decodeWake(body)
      if (wake.kind === 'events') lateEvents.push({ messageId, late: wake.late })
      else wakes.push({ messageId, wake })
    } catch (error) {
      system.log.error('dropped a message that cannot be read', { error, messageId })
    }
  }
  return { wakes, lateEvents }
}
