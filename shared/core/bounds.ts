/** Bounds of the product and of the services beneath it. Each name ends in its unit, and in `_MAX` or `_MIN` where it bounds a range. */

const KB = 1024
const SECOND_MS = 1_000
const DAY_MS = 86_400 * SECOND_MS

/** Stands for all types together in the metrics, so that one count and one alarm cover them. No type can have this name. */
export const EVERY_TYPE = '*'

/**
 * A message that a worker has received is hidden from other workers for this long. The worker needs some seconds from the receipt
 * to the claim, and then deletes the message. SQS delivers a dead worker's messages again when its leases end (by default 15 s).
 */
export const WORKER_VISIBILITY_S = 15

/** Bytes of an input or a result as JSON text in UTF-8. */
export const BODY_BYTES_MAX = 350 * KB
/** Bytes of a request's body. The function's event holds the body as escaped text, and Lambda takes events below 6,291,456 bytes. */
export const REQUEST_BYTES_MAX = 4 * KB * KB
/**
 * Bytes of an answer's body as escaped JSON. Lambda delivers 6,291,556 bytes in all, and status and headers take less than 16 KB.
 * Source: Lambda quotas, and the error `Function.ResponseSizeTooLarge`.
 */
export const ANSWER_BYTES_MAX = 6_291_556 - 16 * KB
/** Tasks, or reports about runs, in one batch request. */
export const BATCH_TASKS_MAX = 100
/** Bytes of the members of a batch request. The rest of the request has 1 KB. */
export const BATCH_BYTES_MAX = REQUEST_BYTES_MAX - KB
/**
 * Bytes of the members of a batch request as escaped text. The function's event holds the body in that form, and the rest of the event
 * has 291,456 bytes.
 */
export const BATCH_ESCAPED_BYTES_MAX = 6_000_000
/** Bytes of a stored error, all its parts together, as JSON text in UTF-8. */
export const ERROR_BYTES_MAX = 4 * KB
/** Causes that a stored error keeps: the nearest ones. */
export const ERROR_CAUSES_MAX = 5
/** Bytes of its handler's log that a failed run keeps: the newest lines, in UTF-8. */
export const RUN_LOG_BYTES_MAX = 4 * KB
/** Bytes of the log that a heartbeat stores with its run: in the head, which has up to 100 live runs. */
export const LIVE_LOG_BYTES_MAX = KB
/** Characters of a task type's name. */
export const TYPE_CHARACTERS_MAX = 100
/** Pattern of a task type's name. */
export const TYPE_NAME_PATTERN = `^[A-Za-z0-9._-]{1,${TYPE_CHARACTERS_MAX}}$`
/** Characters of a key that a caller gives. */
export const KEY_CHARACTERS_MAX = 200
/** Characters of a key that is derived from a name of up to `KEY_CHARACTERS_MAX`, such as the key of a schedule's task. */
export const DERIVED_KEY_CHARACTERS_MAX = KEY_CHARACTERS_MAX + 40
/** Bytes of a worker's id in UTF-8. A head keeps the id with each run, in the list of workers, and in the failures by worker. */
export const WORKER_ID_BYTES_MAX = 256
/** Workers whose failures a head counts one by one. */
export const FAILING_WORKERS_MAX = 100
/** The longest delay, and the longest retention: ten years. */
export const DELAY_MS_MAX = 3_653 * DAY_MS
/** Different workers that one task may ask for. */
export const CONCURRENCY_MAX = 100
export const RETRIES_MAX = 1_000
/** Steps of a flow. The flow's head keeps a record of each step and is written twice per step. */
export const STEPS_MAX = 100
/** The minutes of activity that an answer shows. */
export const ACTIVITY_MINUTES_MAX = 120
/** Bytes of the JSON Schema of a type's input. */
export const INPUT_SCHEMA_BYTES_MAX = 32 * KB
/** Bytes of all steps of a flow type as JSON. They are stored in the item of their type. */
export const STEPS_BYTES_MAX = 100 * KB
/** Bytes of a flow's resolved steps. They are one item, which each process that works on such flows reads once. */
export const FLOW_DEFINITION_BYTES_MAX = 180 * KB
/**
 * Bytes of a flow's input and its steps' results together. A claim shows them as `params` and as `input`. When both do not fit
 * into an answer, the claim shows `params` alone.
 */
export const PARAMS_BYTES_MAX = 2 * KB * KB
/**
 * Stage changes of one task, plus one for each second since its first run. A handler that always returns `next` moves its task some
 * 10 to 30 times a second, so such a task fails after some minutes, at a cost of cents.
 */
export const STAGE_CHANGES_MAX = 10_000
/** Callbacks of each kind. They are published one by one at the task's end. */
export const CALLBACKS_MAX = 100
/** Tasks of a canvas. */
export const CANVAS_LEAVES_MAX = 100_000
/** Ticks that a schedule catches up on. They are published all at once. */
export const CATCH_UP_TICKS_MAX = 1_000
/** The shortest interval of a schedule. Each tick goes through a queue, which is not worth while more often. */
export const EVERY_MS_MIN = SECOND_MS
/** Characters of a cron expression, which is stored in its schedule's head. */
export const CRON_CHARACTERS_MAX = 200
/** Levels of nested canvases. Each level takes two levels of JSON. */
export const CANVAS_DEPTH_MAX = 90
/** Members of a canvas up to which the answer to its publishing lists all their ids. */
export const CANVAS_MEMBERS_SHOWN_MAX = 1_000
/**
 * Tasks of a canvas that its publisher, or the process that ends the task before them, publishes at once. The jobs function
 * publishes larger numbers. A chord's two callbacks come on top of its members.
 */
export const CANVAS_TASKS_AT_ONCE_MAX = CANVAS_MEMBERS_SHOWN_MAX + 2
/**
 * A report about a run over HTTP is written within this time, or answered 503. API Gateway ends a request after 30 s, and the
 * function ends after 29 s.
 */
export const HTTP_WRITE_MS_MAX = 20 * SECOND_MS
/** A claim over HTTP tries for this long beyond its wait. It may begin at the end of the longest wait, and must still be answered. */
export const CLAIM_PATIENCE_MS = 8 * SECOND_MS
/** The longest time for which a claim over HTTP waits for work. */
export const CLAIM_WAIT_MS_MAX = 20 * SECOND_MS
/** Tasks that one claim over HTTP may take. */
export const CLAIM_TASKS_MAX = 100
/** Starts that a rate limit may allow per period. Its log counts them by hundredths of the period. */
export const RATE_STARTS_MAX = 100_000
export const RATE_PERIOD_MS_MIN = 1_000
export const RATE_PERIOD_MS_MAX = 31 * DAY_MS
/** Runs that a concurrency limit may allow. A look at the limit and a claim that finds no permit read a shard for each 8 of them. */
export const PERMITS_MAX = 1_000
/** Bytes of the handed-on lists in one answer to a claim. The answer shows each list twice: in `previous` and in `input`. */
export const CLAIMED_LISTS_BYTES_MAX = 400 * KB
/**
 * Bytes up to which a handed-on list is shown with its task. A longer list has pages of its own. A shown list has at most 100
 * members. Reading their heads costs 50 read units per read of the task, also when a caller polls for the task's end.
 */
export const SHOWN_LIST_BYTES_MAX = 20 * KB
/**
 * Largest priority, positive or negative. The order `aged` subtracts that many seconds from a due time, and the result stays far
 * within its 16 digits.
 */
export const PRIORITY_MAX = 1_000_000_000
/** Bytes of a run's progress, which is stored in the head with its run. */
export const PROGRESS_BYTES_MAX = KB

/**
 * Bytes up to which a body stays in the head item. A head must stay within 1 KB, one write unit. Keys, options, run and history of
 * a plain task measure about 550 bytes, and input and result may add one such body each.
 */
export const INLINE_BODY_BYTES_MAX = 200

/** Runs that did not succeed and that a head keeps, besides all succeeded ones. Older runs are read from their own items. */
export const RECENT_RUNS_MAX = 5
/** Runs that the API shows, besides all live and succeeded ones. */
export const SHOWN_RUNS_MAX = 20
/** Characters of an ended run's error in the head. The full text is an item of its own. */
export const SHORT_ERROR_CHARACTERS_MAX = 120

/**
 * How late the latest due tick of a schedule may be and still publish its task, unless the schedule says otherwise. The sweeper
 * ticks a late schedule within 122 s, so the smallest grace outlasts the loss of any one message.
 */
export const SCHEDULE_GRACE_MS = 300 * SECOND_MS
export const SCHEDULE_GRACE_MS_MIN = 180 * SECOND_MS
export const SCHEDULE_GRACE_MS_MAX = DAY_MS
/** Pauses that a schedule remembers while a tick is due. Each takes some 30 bytes of the schedule's head. */
export const SCHEDULE_PAUSES_MAX = 10
/**
 * The task of a tick stays in the table for at least this time, however short its retention is. When the write that moves a schedule on is
 * lost, its tick is published again, and that publish must find the task. Readers do not see the task beyond its retention.
 */
export const TICK_REMAINS_MS = 4 * DAY_MS

/** SQS delays a message by at most 15 minutes. Source: SQS quotas. */
export const QUEUE_DELAY_MS_MAX = 900 * SECOND_MS
/** The waker reads a minute's tasks this long before the minute, because EventBridge Scheduler fires up to 60 s after its time. */
export const MINUTE_LEAD_MS = 120 * SECOND_MS
/** A task that could be worked on and shows no sign of life for this long is stuck. */
export const STUCK_MS = 900 * SECOND_MS
/** A look arrives this much after the time it looks for, so that a heartbeat on its way can land. */
export const LOOK_SLACK_MS = 500

/** Queues keep a message for this long. A message about a task that fell due longer ago has left its queue. */
export const MESSAGE_LIFE_MS = 4 * DAY_MS
/** A tombstone outlives every message (4 days in queues, 14 in dead-letter queues) and the stream (24 hours). */
export const TOMBSTONE_MS = 15 * DAY_MS
/** A body outlives its task's expected end by this much. Changing an item's TTL costs units for its whole size, so renewals are rare. */
export const BODY_GRACE_MS = 30 * DAY_MS
/** A head expires this long after its task's end. Open tasks do not expire. */
export const DEFAULT_RETENTION_MS = 7 * DAY_MS

/** Shortest retention of a canvas's member. The canvas and later members may read its result long after its end. */
export const MEMBER_RETENTION_MS_MIN = DAY_MS

/** Partitions per type and bucket of the indexes. Each partition takes 1,000 write units a second. */
export const DEFAULT_SHARDS = 4
export const SHARDS_MAX = 64

/** Version of the stored form. Code refuses items that carry a larger one. */
export const SCHEMA_VERSION = 1

/** Changes over the HTTP API that a task, a type or a schedule remembers. They are stored in its item, and each write pays for them. */
export const OPERATIONS_KEPT_MAX = 10
/** Characters of a principal's name. The ARN of an assumed role with its session has some 100. */
export const PRINCIPAL_CHARACTERS_MAX = 128

/** Each type of a list is read in the partitions of its own, so their number bounds the requests of a page. */
export const LIST_TYPES_MAX = 10
export const TAG_FILTERS_MAX = 10
/** A tag's name of 128 characters, a colon, and its value of 256. */
export const TAG_FILTER_CHARACTERS_MAX = 385
export const ERROR_FILTER_CHARACTERS_MAX = 200
