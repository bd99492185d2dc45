/** Limits of the product and of the services beneath it. Units stand in the names. */

const KB = 1024
const SECOND_MS = 1_000
const DAY_MS = 86_400 * SECOND_MS

/** Stands for all types where one count, and one alarm, is for all of them. No type can have this name. */
export const EVERY_TYPE = '*'

/**
 * A message that a worker has received hides so long from the others. From receiving it to the claim, which deletes it, a worker
 * needs seconds; a dead one's return as its leases end.
 */
export const WORKER_VISIBILITY_S = 15

export const BODY_BYTES_MAX = 350 * KB
/** Of a request's body. Its event holds the body as escaped text, and Lambda takes events below 6,291,456 bytes. */
export const REQUEST_BYTES_MAX = 4 * KB * KB
/**
 * Of an answer's body as escaped JSON. Lambda delivers 6,291,556 bytes in all, of which status and headers take less
 * than 16 KB. Source: Lambda quotas, and the error `Function.ResponseSizeTooLarge`.
 */
export const ANSWER_BYTES_MAX = 6_291_556 - 16 * KB
export const BATCH_TASKS_MAX = 100
/** Bytes of a stored error, all its parts together, as JSON text in UTF-8. */
export const ERROR_BYTES_MAX = 4 * KB
/** Causes that an error keeps, the nearest ones. */
export const ERROR_CAUSES_MAX = 5
/** Bytes that a failed run keeps of what it has logged: the newest lines, in UTF-8. */
export const RUN_LOG_BYTES_MAX = 4 * KB
export const TYPE_CHARACTERS_MAX = 100
/** What names a task type. */
export const TYPE_NAME_PATTERN = `^[A-Za-z0-9._-]{1,${TYPE_CHARACTERS_MAX}}$`
export const KEY_CHARACTERS_MAX = 200
/** Keys that are made up from a name of up to `MAX_KEY_LENGTH`, as those of a schedule's tasks, have so many characters. */
export const DERIVED_KEY_CHARACTERS_MAX = KEY_CHARACTERS_MAX + 40
/** Of a worker's id in UTF-8: a head keeps that of each run, of listed workers, and of those that have failed. */
export const WORKER_ID_BYTES_MAX = 256
/** Workers whose failures a head counts one by one. */
export const FAILING_WORKERS_MAX = 100
export const DELAY_MS_MAX = 3_653 * DAY_MS
export const CONCURRENCY_MAX = 100
export const RETRIES_MAX = 1_000
/** Steps of a flow: its head, which is written twice a step, keeps a record of each. */
export const STEPS_MAX = 100
/** Of all steps of a flow type as JSON: they stand in the item of their type. */
export const STEPS_BYTES_MAX = 100 * KB
/** Of the steps of a flow, resolved: one item, which each process that works on such flows reads once. */
export const FLOW_DEFINITION_BYTES_MAX = 180 * KB
/**
 * Of a flow's input and its steps' results. A claim shows them as `params` and as `input`; when both do not fit an
 * answer, as `params` alone.
 */
export const PARAMS_BYTES_MAX = 2 * KB * KB
/**
 * A task may move on to another stage so often, and once more for each second since it first ran. A handler that always returns
 * `next` moves some 10 to 30 times a second, so that it ends after some minutes, at a cost of cents.
 */
export const STAGE_CHANGES_MAX = 10_000
/** Callbacks of each kind; they are published one by one at the task's end. */
export const CALLBACKS_MAX = 100
/** Tasks of a canvas. */
export const CANVAS_LEAVES_MAX = 100_000
/** Ticks that a schedule catches up on at most: they are published all at once. */
export const CATCH_UP_TICKS_MAX = 1_000
/** Often enough for anything that goes through a queue each time. */
export const EVERY_MS_MIN = SECOND_MS
/** Of a cron expression, which stands in the head of its schedule. */
export const CRON_CHARACTERS_MAX = 200
/** How deep canvases nest: each level is two of JSON. */
export const CANVAS_DEPTH_MAX = 90
/** Members of a canvas whose publishing is answered with all their ids. */
export const CANVAS_MEMBERS_SHOWN_MAX = 1_000
/**
 * Tasks of a canvas that whoever publishes it, or ends the one before, publishes at once; more are the jobs function's. A chord's
 * callbacks come on top of its members.
 */
export const CANVAS_TASKS_AT_ONCE_MAX = CANVAS_MEMBERS_SHOWN_MAX + 2
/** A word on a run over HTTP is written within this time, or answered 503. API Gateway ends a request after 30 s, the function after 29 s. */
export const HTTP_WRITE_MS_MAX = 20 * SECOND_MS
/** Beyond its wait, a claim over HTTP tries for so long: it may begin at the end of the longest wait, and must be answered. */
export const CLAIM_PATIENCE_MS = 8 * SECOND_MS
export const CLAIM_WAIT_MS_MAX = 20 * SECOND_MS
export const CLAIM_TASKS_MAX = 100
/** Starts of a rate limit per period: its log counts them by hundredths of the period. */
export const RATE_STARTS_MAX = 100_000
export const RATE_PERIOD_MS_MIN = 1_000
export const RATE_PERIOD_MS_MAX = 31 * DAY_MS
/**
 * Runs that a concurrency limit may allow: its holders stand in one item, which DynamoDB refuses above 400 KB. Each takes some
 * 30 bytes beside its task's id, and that up to 1,061: a type of 100, a key of 240 characters of 4 bytes.
 */
export const PERMITS_MAX = 350
/** Lists handed on to the tasks of one answer to a claim, which shows them twice: in `previous` and in `input`. */
export const CLAIMED_LISTS_BYTES_MAX = 400 * KB
/**
 * A list that was handed on is shown with its task up to this size; a longer one has pages of its own. It has at most 100
 * members then, whose heads a read of the task costs: 50 read units, also where a caller polls for the task's end.
 */
export const SHOWN_LIST_BYTES_MAX = 20 * KB
/** Far from where `aged` order, which takes seconds of priority off a due time, would leave its 16 digits. */
export const PRIORITY_MAX = 1_000_000_000
/** Progress stands in the head, beside its run. */
export const PROGRESS_BYTES_MAX = KB

/**
 * Bodies up to this size stay in the head item. A head must stay within 1 KB, one write unit: keys, options, run and
 * history of a plain task measure about 550 bytes, input and result may add one such body each.
 */
export const INLINE_BODY_BYTES_MAX = 200

/** A head keeps all succeeded runs and so many others; older ones are read from their own items. */
export const RECENT_RUNS_MAX = 5
/** The API shows all live and succeeded runs and so many others. */
export const SHOWN_RUNS_MAX = 20
/** An ended run's error in the head is cut here; the full text is an item of its own. */
export const SHORT_ERROR_CHARACTERS_MAX = 120

/**
 * How late the latest due tick of a schedule still runs, unless the schedule says otherwise. The sweeper ticks a late
 * schedule within 122 s, so the least grace outlasts any one lost message.
 */
export const SCHEDULE_GRACE_MS = 300 * SECOND_MS
export const SCHEDULE_GRACE_MS_MIN = 180 * SECOND_MS
export const SCHEDULE_GRACE_MS_MAX = DAY_MS
/** Pauses that a schedule remembers while a tick is due: each takes some 30 bytes of its head. */
export const SCHEDULE_PAUSES_MAX = 10
/**
 * The task of a tick stays in the table at least so long, however short its retention is: a tick that is published
 * again, because its schedule was not moved on, must find it. Readers do not see it beyond its retention.
 */
export const TICK_REMAINS_MS = 4 * DAY_MS

/** SQS delays a message by at most 15 minutes. Source: SQS quotas. */
export const QUEUE_DELAY_MS_MAX = 900 * SECOND_MS
/** EventBridge Scheduler fires up to 60 s after its time; a minute's tasks are fetched this much earlier. */
export const MINUTE_LEAD_MS = 120 * SECOND_MS
/** A task that could be worked on and shows no sign of life for so long is stuck. */
export const STUCK_MS = 900 * SECOND_MS
/** A look comes this much after the time it looks for, so that a heartbeat on its way can land. */
export const LOOK_SLACK_MS = 500

/** Queues keep a message this long: what fell due before that cannot be in one any more. */
export const MESSAGE_LIFE_MS = 4 * DAY_MS
/** A tombstone outlives every message (4 days in queues, 14 in dead-letter queues) and the stream (24 hours). */
export const TOMBSTONE_MS = 15 * DAY_MS
/** Bodies outlive their task's expected end by this much; changing an item's TTL costs its whole size in units. */
export const BODY_GRACE_MS = 30 * DAY_MS
/** Open tasks do not expire; heads get a TTL at their end. */
export const DEFAULT_RETENTION_MS = 7 * DAY_MS

/** What a member of a canvas came to is read when others need it, which may be a while after its end. */
export const MEMBER_RETENTION_MS_MIN = DAY_MS

/** Partitions per type and bucket of the indexes: each takes 1,000 write units a second. */
export const DEFAULT_SHARDS = 4
export const SHARDS_MAX = 64

/** Version of the stored form; code refuses items that carry a larger one. */
export const SCHEMA_VERSION = 1

/** Changes by people that a task, a type or a schedule remembers; they stand in its head, which each write pays for. */
export const OPERATIONS_KEPT_MAX = 10
/** Of the name of a principal. The ARN of a role that was taken on, with its session, has some 100. */
export const PRINCIPAL_CHARACTERS_MAX = 128
