/** Numbers of the deployment, with their unit and where they come from. */

/** Keeps the prefix `<system>-q-` and the hash of a long type within SQS's 80 characters. Source: SQS quotas. */
export const SYSTEM_NAME_CHARACTERS_MAX = 40

/** Source: Lambda quotas. */
export const FUNCTION_MEMORY_MB_MIN = 128
export const FUNCTION_MEMORY_MB_MAX = 10_240
/** A CPU share of about 0.3; imports take half as long as with 256 MB. Source: Lambda configuration, memory. */
export const FUNCTION_MEMORY_MB = 512
/** HTTP APIs give up after 30 s, claims wait up to 20 s. Source: API Gateway quotas. */
export const API_TIMEOUT_S = 29
/**
 * Holds an answer of 5 MB and the bundle with room to spare. A poll that finds nothing takes twice as long with half of it, and
 * costs the same.
 */
export const CLAIMS_MEMORY_MB = 256
/** Found within a second on average, at a poll of some 5 read units: $2 to $3 a month for a worker that idles. */
export const CLAIM_RETRY_MS = 2_000
export const CLAIM_RETRY_MS_MIN = 500
/** Below the 30 s after which a silent worker counts as gone. */
export const CLAIM_RETRY_MS_MAX = 20_000
/** A twentieth of an account's usual 1,000 executions. */
export const CLAIMS_WAITING_MAX = 50
/** Of the reserved executions; the others answer claims that find their task at once. */
export const CLAIMS_WAITING_SHARE = 0.8
/** A fifth of what API Gateway gives to all APIs of an account. Source: API Gateway quotas, 10,000 requests a second. */
export const API_REQUESTS_PER_S = 2_000
export const API_BURST = 2_000
export const CORS_MAX_AGE_S = 3_600
export const PLANNER_TIMEOUT_S = 60
export const WAKER_TIMEOUT_S = 30
/** Jobs work in stretches of 25 s; the rest is left to a page under way at a slow table. */
export const JOBS_TIMEOUT_S = 60
/** Rounds begin every minute and must not overlap. */
export const SWEEPER_TIMEOUT_S = 50
export const REGISTRAR_TIMEOUT_S = 60
/** CloudFormation waits this long for a registration instead of its usual hour. */
export const REGISTRATION_WAIT_S = 300

/** A function takes events of 256 KB asynchronously, a template has 1 MB for everything. Source: Lambda, CloudFormation quotas. */
export const CONFIGURATION_CHARACTERS_MAX = 100_000

/** For handlers whose task sets no `timeoutMs`. */
export const HANDLER_TIMEOUT_S = 300
/** Left to a handler's function after its task's `timeoutMs`, to record the outcome. */
export const HANDLER_MARGIN_S = 15
/** Source: Lambda quotas. */
export const FUNCTION_TIMEOUT_S_MAX = 900

/** SQS gives at most 10 messages at once without a batching window. Source: Lambda with SQS. */
export const QUEUE_BATCH_SIZE = 10
/**
 * Concurrent batches per mapping, set on every one: without it a full account throttles, each throttle counts as a
 * receive, and good messages end in the dead-letter queue. Source: Lambda with SQS, maximum concurrency (2–1,000).
 */
export const HANDLER_CONCURRENCY_MAX = 50
export const WAKER_CONCURRENCY_MAX = 50
/** Long jobs may take their time: this keeps them from the table's capacity and from the account's executions. */
export const JOBS_CONCURRENCY_MAX = 5
/** Six times the function's timeout lets Lambda retry a throttled batch. Source: Lambda with SQS. */
export const TIMEOUTS_PER_VISIBILITY = 6
/** Also what a batch partner of a crashing task can bear; the least that AWS recommends is 5. */
export const RECEIVES_MAX = 10
/**
 * The most that SQS takes. A dispatch carries its task's head: the steps of a flow, up to 180 KB as they travel, and the progress
 * of up to 100 runs, 1 KB each, which takes three times as much where it is escaped. Source: SQS quotas.
 */
export const MESSAGE_BYTES_MAX = 1_048_576
/** The most that SQS keeps. Source: SQS quotas. */
export const DEAD_LETTER_RETENTION_DAYS = 14

export const STREAM_BATCH_SIZE = 100
/** With bisection and partial answers only the bad record itself is retried so often. */
export const STREAM_RETRIES_MAX = 10
/** Half of what the stream keeps, so that a blocked shard gives up before records are lost. Source: 24 h, DynamoDB Streams. */
export const STREAM_RECORD_AGE_HOURS_MAX = 12

/** The next round comes anyway. */
export const SWEEP_RETRIES_MAX = 3
/** The least that Scheduler takes. Source: EventBridge Scheduler, RetryPolicy. */
export const SWEEP_EVENT_AGE_S_MAX = 60

/** The smallest CPU that Fargate has, and the smallest memory that goes with it. Source: Fargate task sizes. */
export const WORKER_CPU_UNITS = 256
export const WORKER_MEMORY_MB = 512
/** Which memory goes with which CPU units; 256 takes 512, too. Source: Fargate task sizes. */
export const FARGATE_MEMORY_MB: Readonly<
  Record<number, { readonly min: number; readonly max: number; readonly step: number }>
> = {
  256: { min: 1_024, max: 2_048, step: 1_024 },
  512: { min: 1_024, max: 4_096, step: 1_024 },
  1024: { min: 2_048, max: 8_192, step: 1_024 },
  2048: { min: 4_096, max: 16_384, step: 1_024 },
  4096: { min: 8_192, max: 30_720, step: 1_024 },
  8192: { min: 16_384, max: 61_440, step: 4_096 },
  16384: { min: 32_768, max: 122_880, step: 8_192 },
}
export const WORKER_CONCURRENCY = 10
export const WORKER_CONCURRENCY_MAX = 1_000
export const SERVICE_CONTAINERS_MIN = 1
export const SERVICE_CONTAINERS_MAX = 10
/** Source: ECS quotas, tasks per service. */
export const SERVICE_CONTAINERS_QUOTA = 5_000
/** Between SIGTERM and SIGKILL. Source: ECS on Fargate, stopTimeout. */
export const STOP_TIMEOUT_S_MAX = 120
/** Left after draining, to give runs back and end. */
export const WORKER_STOP_MARGIN_S = 10
export const WORKER_DRAIN_S = STOP_TIMEOUT_S_MAX - WORKER_STOP_MARGIN_S
/** An alarm of an expression reads at most 10 metrics, one of them the running containers. Source: CloudWatch quotas. */
export const SCALED_QUEUES_MAX = 9
/** A container is up within a minute; asking again sooner would count the same backlog twice. */
export const SCALE_OUT_COOLDOWN_S = 60
export const SCALE_IN_COOLDOWN_S = 300

export const LOG_RETENTION_DAYS = 30

export const ALARM_PERIOD_MINUTES = 5
export const ITERATOR_AGE_MS_MAX = 60_000

/** Source: CloudFormation quotas. */
export const STACK_RESOURCES_MAX = 500
/** What a new on-demand table and each of its indexes serve at once. Source: DynamoDB, warm throughput. */
export const WARM_READ_UNITS_MIN = 12_000
export const WARM_WRITE_UNITS_MIN = 4_000

/** Of SQS mappings. Source: Lambda event source mapping API reference. */
export const MAPPING_CONCURRENCY_MIN = 2
export const MAPPING_CONCURRENCY_MAX = 1_000
/** Runs are told to stop 3 s before the function's end; less than this leaves them no time. */
export const HANDLER_TIMEOUT_S_MIN = 10

/** Types that one grant may name: each takes some 500 characters, with a name of 20, of a role's inline policies, which end at 10,240. */
export const GRANTED_TYPES_MAX = 15
