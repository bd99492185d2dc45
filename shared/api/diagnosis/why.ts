import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { listOf, open, optional, strict } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { flag, name, oneOf, text } from '../../core/rules/scalars.ts'
import { MEMBER_STATUSES, WHY_REASONS } from '../../core/states.ts'
import { count, shownTime } from '../scalars.ts'

/** Why a task waits, runs or has ended: the query and the answer of `GET /v1/tasks/{id}/why`. */

export const whyQuery = strict({
  /** The canvas of a member that is not published yet. Its answer has the reason `canvas` or `skipped`. @default none */
  canvasId: optional(name(KEY_CHARACTERS_MAX + 20)),
})

export type WhyQuery = ValueOf<typeof whyQuery>

const whyHolder = open({
  /** The task that holds a permit. */
  taskId: text(),
  /** Since when the task holds it. */
  since: shownTime,
})

const whyLimit = open({
  /** Whether the limit bounds starts per period, or runs at a time. */
  kind: oneOf('rate', 'concurrency'),
  /** The type, or the type and the value of the limit's key: `resize`, `resize=shop-7`. */
  name: text(),
  /** How many starts a period allows, or how many runs at a time. */
  max: optional(count),
  /** The period of a rate limit, in milliseconds. */
  perMs: optional(count),
  /** How many permits are held. */
  held: optional(count),
  /** The holders of permits, longest first: at most ten. */
  holders: optional(listOf(whyHolder)),
})

const whyQueue = open({
  /** The type in whose queue, or among whose ready tasks, the task waits. */
  type: text(),
  /** About how many messages wait in the queue. */
  messages: optional(count),
  /** When the open task of the type that was due first was due. */
  oldestDueAt: optional(shownTime),
  /** For types that are claimed from the index: at least this many tasks come before it, counted up to 100. */
  before: optional(count),
})

export const whyAnswer = open(
  {
    /** The id of the task. */
    id: text(),
    /** How far the task is. `pending` and `skipped` are of members of a canvas that are not published. */
    status: oneOf(...MEMBER_STATUSES),
    /** The reason. The guide on waiting has a table of all. */
    reason: oneOf(...WHY_REASONS),
    /** One sentence: for what the task waits, since when, until when, and which task or worker is in the way. A further sentence names a key of a limit that the task lacks. */
    sentence: text(),
    /** What a caller can do, or that there is nothing to do. */
    next: text(),
    /** Since when the reason holds. */
    since: optional(shownTime),
    /** Until when the task waits at least, or the lease of its run lasts. */
    until: optional(shownTime),
    /** The limit that the task waits for. */
    limit: optional(whyLimit),
    /** The worker that runs the task, or that is to take it. */
    holder: optional(text()),
    /** What is ahead of the task. */
    queue: optional(whyQueue),
    /** The last sign of life of a worker that may take the task, or that runs it. */
    lastWorkerSeenAt: optional(shownTime),
    /** The newest log lines of the last run without success. */
    log: optional(text()),
    /** The dead letter that was the message for which the task waits. */
    deadLetterId: optional(text()),
  },
  'Why',
)

/** Why a task waits, runs, or has ended as it has. */
export type WhyAnswer = ValueOf<typeof whyAnswer>

/** A position in the log of each live run, of which a task has up to 100. */
const POSITION = /^\d{1,16}\.\d{1,16}\.\d{1,9}(_\d{1,16}\.\d{1,16}\.\d{1,9}){0,100}$/

export const logQuery = strict({
  /** The `next` of an earlier answer. @default the beginning of what is stored */
  after: optional(text('a next of this log', value => POSITION.test(value), { pattern: POSITION.source })),
})

export type LogQuery = ValueOf<typeof logQuery>

export const logAnswer = open(
  {
    /** The log lines, oldest first. */
    lines: listOf(
      open({
        /** The id of the run whose handler wrote the line. */
        runId: text(),
        /** The time, the level, the message, and the fields as JSON. */
        text: text(),
      }),
    ),
    /** The `after` of the next request. */
    next: text(),
    /** Whether the task has ended, so that no line follows. */
    complete: flag(),
  },
  'TaskLog',
)

/** The log of a task, as far as it is stored. */
export type TaskLog = ValueOf<typeof logAnswer>
