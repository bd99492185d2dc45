import { LOOK_SLACK_MS } from '../bounds.ts'
import { liveRuns, type Task } from '../task/task.ts'

/**
 * A run is looked at by a chain of messages: each look arms the next one at the end of the lease. SQS may deliver a look
 * twice, the stream may show a change twice, and the sweeper may arm a look beside one that is only late. Each of them
 * begins a chain of its own, and without a check all of them would live as long as the run.
 *
 * So a chain records in the head how far it has come: at its first look that arms another one, and then every eighth time.
 * Of several chains at one revision only the one that has come farthest may record itself; the others end there. A run
 * within its first lease costs no record, a long one an eighth of a write unit a lease.
 */
const LOOKS_PER_RECORD = 8

/** A record of a chain of looks in the head of a running task. */
export type LookRecord = {
  /** How often the chain has armed a look. */
  readonly hops: number
  /** The message that arms it: when SQS delivers that message again, the record is its own. */
  readonly name: string
  /** By then the chain records itself again, or it is lost and any other may. */
  readonly until: number
}

/** Queues deliver a look at most so much later than its time; what is later still counts as lost. */
const LOOK_LATE_MS = 5_000
/** Heads are small: enough of a message's id to tell it from others. */
const NAME_LENGTH = 8

/** What the chain records before it arms its look number `hops`; undefined when it arms it without a record. */
export function lookRecord(
  task: Task,
  look: { readonly hops: number; readonly messageId: string },
  now: number,
): LookRecord | undefined {
  const runs = liveRuns(task)
  const { hops, messageId } = look
  if (runs.length === 0 || hops % LOOKS_PER_RECORD !== 1) return undefined
  const leaseMs = Math.max(...runs.map(run => run.leaseMs ?? task.options.leaseMs))
  const until = now + LOOKS_PER_RECORD * (leaseMs + LOOK_SLACK_MS + LOOK_LATE_MS)
  return { hops, name: messageId.slice(0, NAME_LENGTH), until }
}
