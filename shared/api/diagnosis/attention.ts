import { listOf, open, optional } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { flag, text } from '../../core/rules/scalars.ts'
import { count, operation, shownTime } from '../scalars.ts'
import { task } from '../tasks.ts'

/** What waits for an operator, and what callers last did. */
export const attentionAnswer = open(
  {
    /** Tasks for which an operator must decide, those that halted last first; at most 20. */
    halted: listOf(task),
    /** How many such tasks there are. The count stops at 400. */
    haltedCount: count,
    /** The queues that have given up messages, among the last 100 of them. */
    deadLetters: listOf(
      open({
        /** The queue, as in `GET /v1/dead-letters`. */
        queue: text(),
        /** How many messages it has given up. */
        count,
        /** How many of these can be sent again. */
        replayable: count,
        /** When the last one arrived. */
        lastAt: shownTime,
      }),
    ),
    /** Whether there are more dead letters than were counted. */
    moreDeadLetters: flag(),
    /**
     * The last 40 actions of callers within 14 days, newest first: retries, bulk operations, purges, replays of dead letters, pauses and
     * resumptions, and ticks by hand.
     */
    actions: listOf(
      open({
        ...operation.shape,
        /** The task, type, schedule or queue. Left out when the action names none. */
        subject: optional(text()),
      }),
    ),
  },
  'Attention',
)

export type AttentionAnswer = ValueOf<typeof attentionAnswer>
