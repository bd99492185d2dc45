/**
 * Numbers of the deployment that several constructs share, each with its unit and its source. A number of one construct is in the
 * construct's file.
 */

/** Lambda's smallest memory. Source: Lambda quotas. */
export const FUNCTION_MEMORY_MB_MIN = 128
/** Lambda's largest memory. Source: Lambda quotas. */
export const FUNCTION_MEMORY_MB_MAX = 10_240
export const WAKER_TIMEOUT_S = 30
/** A job works for at most 25 s per invocation. The remaining time is for a page that a slow table delays. */
export const JOBS_TIMEOUT_S = 60
/** A handler's function runs this much longer than its task's `timeoutMs`, so that it can record the outcome. */
export const HANDLER_MARGIN_S = 15
/** Lambda's longest timeout. Source: Lambda quotas. */
export const FUNCTION_TIMEOUT_S_MAX = 900

/** Without a batching window, a batch has at most 10 messages. Source: Lambda with SQS. */
export const QUEUE_BATCH_SIZE = 10
/** A good message that shares its batches with a crashing task needs several receives. AWS recommends 5 or more. */
export const RECEIVES_MAX = 10
/**
 * The largest message that SQS accepts. A dispatch carries its task's head: the steps of a flow, up to 180 KB as sent, and the
 * progress of up to 100 runs of 1 KB each. Escaping triples the size of the progress. Source: SQS quotas.
 */
export const MESSAGE_BYTES_MAX = 1_048_576

/** The resources of a handler's function, and of each type that it serves, by the system's level of alarms. */
export const HANDLER_RESOURCES = {
  none: { perFunction: 4, perType: 4 },
  essential: { perFunction: 4, perType: 4 },
  all: { perFunction: 6, perType: 4 },
} as const
/** Write units that a plain task takes in the table, and again in the index `view`. */
export const TASK_WRITE_UNITS = 3
/**
 * The table is prepared for this many times the expected writes. DynamoDB places the keys of a type at random among its partitions of
 * 1,000 write units a second, so some partitions get several of them.
 */
export const WARM_HEADROOM = 4
/**
 * Expected tasks a second for each shard of a type. A key of open tasks then takes a quarter of what a partition serves: 1,000 write
 * units a second, at 2 units a task.
 */
export const TASKS_PER_SHARD = 125

/** The smallest maximum concurrency of an SQS mapping. Source: Lambda event source mapping API reference. */
export const MAPPING_CONCURRENCY_MIN = 2
