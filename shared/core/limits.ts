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

export const MAX_BODY_BYTES = 350 * KB
export const MAX_BATCH_BYTES = 5 * KB * KB
export const MAX_BATCH_TASKS = 100
export const MAX_ERROR_CHARACTERS = 4 * KB
export const MAX_TYPE_LENGTH = 100
export const MAX_KEY_LENGTH = 200
/** Keys that are made up from a name of up to `MAX_KEY_LENGTH`, as those of a schedule's tasks, have so many characters. */
export const MAX_DERIVED_KEY_LENGTH = MAX_KEY_LENGTH + 40
export const MAX_DELAY_MS = 3_653 * DAY_MS
export const MAX_CONCURRENCY = 100
export const MAX_RETRIES = 1_000
/** Steps of a flow: its head, which is written twice a step, keeps a record of each. */
export const MAX_STEPS = 100
/** Of all steps of a flow type as JSON: every dispatch of its tasks carries them, resolved. */
export const MAX_STEPS_BYTES = 100 * KB
/** Of the steps of a flow, resolved, in each dispatch: a queue takes 256 KB and bills by 64 KB. */
export const MAX_DEFINITION_BYTES = 180 * KB
/** Of a flow's input and its steps' results: a claim shows them as `params` and as input, and answers end at 6 MB. */
export const MAX_PARAMS_BYTES = 2 * KB * KB
/** Callbacks of each kind; they are published one by one at the task's end. */
export const MAX_CALLBACKS = 100
/** Tasks of a canvas. */
export const MAX_CANVAS_LEAVES = 100_000
/** Ticks that a schedule catches up on at most: they are published all at once. */
export const MAX_CATCH_UP = 1_000
/** Often enough for anything that goes through a queue each time. */
export const MIN_EVERY_MS = SECOND_MS
/** Of a cron expression, which stands in the head of its schedule. */
export const MAX_CRON_LENGTH = 200
/** How deep canvases nest: each level is two of JSON. */
export const MAX_CANVAS_DEPTH = 90
/** Members of a canvas whose publishing is answered with all their ids. */
export const MAX_TOLD_MEMBERS = 1_000
/**
 * Tasks of a canvas that whoever publishes it, or ends the one before, publishes at once; more are the jobs function's. A chord's
 * callbacks come on top of its members.
 */
export const MAX_STARTED_AT_ONCE = MAX_TOLD_MEMBERS + 2
export const MAX_CLAIM_WAIT_MS = 20 * SECOND_MS
export const MAX_CLAIMS = 100
/** Starts of a rate limit per period: its log counts them by hundredths of the period. */
export const MAX_RATE = 100_000
export const MIN_RATE_PERIOD_MS = 1_000
export const MAX_RATE_PERIOD_MS = 31 * DAY_MS
/**
 * Runs that a concurrency limit may allow: its holders stand in one item, which DynamoDB refuses above 400 KB. Each takes some
 * 30 bytes beside its task's id, and that up to 1,061: a type of 100, a key of 240 characters of 4 bytes.
 */
export const MAX_PERMITS = 350
/** Inputs handed out with one answer to a claim; Lambda answers end at 6 MB. */
export const MAX_CLAIM_BYTES = 5 * KB * KB
/** Far from where `aged` order, which takes seconds of priority off a due time, would leave its 16 digits. */
export const MAX_PRIORITY = 1_000_000_000
/** Progress stands in the head, beside its run. */
export const MAX_PROGRESS_BYTES = KB

/**
 * Bodies up to this size stay in the head item. A head must stay within 1 KB, one write unit: keys, options, run and
 * history of a plain task measure about 550 bytes, input and result may add one such body each.
 */
export const MAX_INLINE_BYTES = 200

/** A head keeps all succeeded runs and so many others; older ones are read from their own items. */
export const RECENT_RUNS = 5
/** The API shows all live and succeeded runs and so many others. */
export const SHOWN_RUNS = 20
/** An ended run's error in the head is cut here; the full text is an item of its own. */
export const SHORT_ERROR_CHARACTERS = 120

/** A tick that is not published this long after its time counts as missed. */
export const MISSED_TICK_MS = 60 * SECOND_MS

/** SQS delays a message by at most 15 minutes. Source: SQS quotas. */
export const MAX_QUEUE_DELAY_MS = 900 * SECOND_MS
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
export const MIN_MEMBER_RETENTION_MS = DAY_MS

/** Partitions per type and bucket of the indexes: each takes 1,000 write units a second. */
export const DEFAULT_SHARDS = 4
export const MAX_SHARDS = 64

/** Version of the stored form; code refuses items that carry a larger one. */
export const SCHEMA_VERSION = 1
