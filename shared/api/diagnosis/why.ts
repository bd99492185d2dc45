import * as z from 'zod'
import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { MEMBER_STATUSES, WHY_REASONS } from '../../core/states.ts'
import { count, name, optional, shownTime, strict } from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'

/** Why a task waits, runs or has ended: the query and the answer of `GET /v1/tasks/{id}/why`. */

export const whyQuery = strict({
  canvasId: optional(name(KEY_CHARACTERS_MAX + 20)).meta({
    description:
      'The canvas of a member that is not published yet. Its answer has the reason `canvas` or `skipped`',
  }),
})

export type WhyQuery = TypeOf<typeof whyQuery>

const whyHolder = z.object({
  /** The task that holds a permit. */
  taskId: z.string().describe('The task that holds a permit.'),
  since: shownTime,
})

const whyLimit = z.object({
  kind: z.enum(['rate', 'concurrency']),
  /** The type, or the type and the value of the limit's key: `resize`, `resize=shop-7`. */
  name: z
    .string()
    .describe("The type, or the type and the value of the limit's key: `resize`, `resize=shop-7`."),
  /** How many starts a period allows, or how many runs at a time. */
  max: optional(count).describe('How many starts a period allows, or how many runs at a time.'),
  /** The period of a rate limit, in milliseconds. */
  perMs: optional(count).describe('The period of a rate limit, in milliseconds.'),
  /** How many permits are held. */
  held: optional(count).describe('How many permits are held.'),
  /** The holders of permits, longest first: at most ten. */
  holders: optional(z.array(whyHolder)).describe('The holders of permits, longest first: at most ten.'),
})

const whyQueue = z.object({
  /** The type whose queue or whose ready tasks the task stands among. */
  type: z.string().describe('The type whose queue or whose ready tasks the task stands among.'),
  /** About how many messages wait in the queue. */
  messages: optional(count).describe('About how many messages wait in the queue.'),
  /** When the open task of the type that was due first was due. */
  oldestDueAt: optional(shownTime).describe('When the open task of the type that was due first was due.'),
  /** For types that are claimed from the index: at least so many tasks come before it, counted up to 100. */
  before: optional(count).describe(
    'For types that are claimed from the index: at least so many tasks come before it, counted up to 100.',
  ),
})

export const whyAnswer = z
  .object({
    id: z.string(),
    status: z.enum(MEMBER_STATUSES),
    reason: z.enum(WHY_REASONS),
    /** One sentence: for what the task waits, since when, until when, and which task or worker is in the way. */
    sentence: z
      .string()
      .describe(
        'One sentence: for what the task waits, since when, until when, and which task or worker is in the way.',
      ),
    /** What a caller can do, or that nothing need be done. */
    next: z.string().describe('What a caller can do, or that nothing need be done.'),
    since: optional(shownTime),
    until: optional(shownTime),
    limit: optional(whyLimit),
    /** The worker that runs the task, or that is to take it. */
    holder: optional(z.string()).describe('The worker that runs the task, or that is to take it.'),
    queue: optional(whyQueue),
    /** The last sign of life of a worker that may take the task, or that runs it. */
    lastWorkerSeenAt: optional(shownTime).describe(
      'The last sign of life of a worker that may take the task, or that runs it.',
    ),
    /** The newest log lines of the last run without success. */
    log: optional(z.string()).describe('The newest log lines of the last run without success.'),
    /** The dead letter that was the message for which the task waits. */
    deadLetterId: optional(z.string()).describe(
      'The dead letter that was the message for which the task waits.',
    ),
  })
  .meta({ id: 'Why' })

/** Why a task waits, runs, or has ended as it has. */
export type WhyAnswer = TypeOf<typeof whyAnswer>
