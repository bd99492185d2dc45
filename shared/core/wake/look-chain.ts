import { LOOK_SLACK_MS } from '../bounds.ts'
import { liveRuns, type Task } from '../task/task.ts'

/**
 * A chain of messages looks at a run: each look sends the next one for the end of the lease. SQS may deliver a look twice, the
 * stream may show a change twice, and the sweeper may send a look beside one that is only late. Each of these begins a chain of its
 * own. Without a check all these chains would live as long as the run.
 *
 * So a chain records its progress in the head: at its first look that sends another one, and then at every eighth look. Among
 * several chains at one revision only the most advanced one may record itself. A chain that may not record itself ends. A run
 * within its first lease costs no record. A long run costs an eighth of a write unit per lease.
 */
const LOOKS_PER_RECORD = 8

/** A record of a chain of looks in the head of a running task. */
export type LookRecord = {
  /** How many looks the chain has sent. */
  readonly hops: number
  /**
   * The beginning of the id of the message that made the record. When SQS delivers that message again, its record may be repeated.
   */
  readonly name: string
  /** The time by which the chain records itself again. Afterwards it counts as lost, and any other chain may record itself. */
  readonly until: number
}

/** SQS usually delivers a look at most this long after its time. A later look counts as lost. */
const LOOK_LATE_MS = 5_000
/** Characters of a message's id that a record keeps. They suffice to tell messages apart, and heads must stay small. */
const NAME_CHARACTERS = 8

/** The record that a chain makes before it sends its look number `hops`; undefined when it sends that look without a record. */
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
  return { hops, name: messageId.slice(0, NAME_CHARACTERS), until }
}
