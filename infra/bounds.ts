/** Numbers of the deployment, each with its unit and its source. */

/**
 * This length leaves room in a queue's name for `-q-` and the hash of a long type. SQS allows 80 characters. Source: SQS
 * quotas.
 */
export const SYSTEM_NAME_CHARACTERS_MAX = 40

/** Lambda's smallest memory. Source: Lambda quotas. */
export const FUNCTION_MEMORY_MB_MIN = 128
/** Lambda's largest memory. Source: Lambda quotas. */
export const FUNCTION_MEMORY_MB_MAX = 10_240
/**
 * With this memory a function has about 0.3 of a CPU, and its imports take half as long as with 256 MB. Source: Lambda
 * configuration, memory.
 */
export const FUNCTION_MEMORY_MB = 512
/** An HTTP API gives up after 30 s, and a claim waits up to 20 s. Source: API Gateway quotas. */
export const API_TIMEOUT_S = 29
/**
 * Memory of the claims function: it holds an answer of 5 MB and the bundle with room to spare. With half of it, an empty
 * poll takes twice as long and costs the same.
 */
export const CLAIMS_MEMORY_MB = 256
/**
 * With this delay a worker finds a task after a second on average. A poll takes some 5 read units, so an idle worker costs $2
 * to $3 a month.
 */
export const CLAIM_RETRY_MS = 2_000
/** The shortest legal `retryAfterMs`. */
export const CLAIM_RETRY_MS_MIN = 500
/** The longest legal `retryAfterMs`. It is shorter than the 30 s after which a silent worker counts as gone. */
export const CLAIM_RETRY_MS_MAX = 20_000
/** How many claims may wait at a time by default: a twentieth of an account's usual 1,000 executions. */
export const CLAIMS_WAITING_MAX = 50
/** The share of the reserved executions in which claims may wait. The others answer claims that find their task at once. */
export const CLAIMS_WAITING_SHARE = 0.8
/** A fifth of the rate that all APIs of an account share. Source: API Gateway quotas, 10,000 requests per second. */
export const API_REQUESTS_PER_S = 2_000
export const API_BURST = 2_000
export const CORS_MAX_AGE_S = 3_600
export const PLANNER_TIMEOUT_S = 60
export const WAKER_TIMEOUT_S = 30
/** A job works for at most 25 s per invocation. The remaining time is for a page that a slow table delays. */
export const JOBS_TIMEOUT_S = 60
/** The sweeper's rounds begin every minute and must not overlap. */
export const SWEEPER_TIMEOUT_S = 50
export const REGISTRAR_TIMEOUT_S = 60
/** CloudFormation waits this long for a registration instead of its usual hour. */
export const REGISTRATION_WAIT_S = 300

/**
 * The longest configuration of one type, as JSON. An asynchronous event of Lambda has at most 256 KB, and a template has at
 * most 1 MB in all. Source: Lambda and CloudFormation quotas.
 */
export const CONFIGURATION_CHARACTERS_MAX = 100_000

/** The timeout of a handler's function when its task sets no `timeoutMs`. */
export const HANDLER_TIMEOUT_S = 300
/** A handler's function runs this much longer than its task's `timeoutMs`, so that it can record the outcome. */
export const HANDLER_MARGIN_S = 15
/** The most types of one function. With type names of 100 characters, its role needs six of the ten managed policies of a role. */
export const GROUPED_TYPES_MAX = 30
/** Lambda's smallest `/tmp`. Source: Lambda quotas. */
export const STORAGE_MB_MIN = 512
/** Lambda's largest `/tmp`. Source: Lambda quotas. */
export const STORAGE_MB_MAX = 10_240
/** The most layers of one function. Source: Lambda quotas. */
export const LAYERS_MAX = 5
/** Lambda's longest timeout. Source: Lambda quotas. */
export const FUNCTION_TIMEOUT_S_MAX = 900

/** Without a batching window, a batch has at most 10 messages. Source: Lambda with SQS. */
export const QUEUE_BATCH_SIZE = 10
/**
 * Concurrent batches of a handler's mapping by default. Every mapping has such a maximum. Without it a full account throttles
 * the poller, each throttle counts as a receive, and good messages end in the dead-letter queue. Source: Lambda with SQS,
 * maximum concurrency (2–1,000).
 */
export const HANDLER_CONCURRENCY_MAX = 50
export const WAKER_CONCURRENCY_MAX = 50
/** Concurrent long jobs. They are not urgent, so few of them share the table's capacity and the account's executions. */
export const JOBS_CONCURRENCY_MAX = 5
/** A visibility timeout of six function timeouts lets Lambda retry a throttled batch. Source: Lambda with SQS. */
export const TIMEOUTS_PER_VISIBILITY = 6
/** A good message that shares its batches with a crashing task needs several receives. AWS recommends 5 or more. */
export const RECEIVES_MAX = 10
/**
 * The largest message that SQS accepts. A dispatch carries its task's head: the steps of a flow, up to 180 KB as sent, and the
 * progress of up to 100 runs of 1 KB each. Escaping triples the size of the progress. Source: SQS quotas.
 */
export const MESSAGE_BYTES_MAX = 1_048_576
/** The longest retention that SQS has. Source: SQS quotas. */
export const DEAD_LETTER_RETENTION_DAYS = 14

export const STREAM_BATCH_SIZE = 100
/** Lambda tries a record again until its age ends that: an outage of the table or of SQS must lose no record. */
export const STREAM_RETRIES_MAX = -1
/**
 * Concurrent batches of one shard. Lambda keeps the records of an item in order. A shard has at most 1,000 records a second, which
 * keep one batch at a time busy for 70–80 % of it. Source: Lambda with DynamoDB, ParallelizationFactor (1–10).
 */
export const STREAM_PARALLELIZATION = 2
export const STREAM_PARALLELIZATION_MAX = 10
/**
 * Half of the 24 h for which a stream keeps records. Lambda thus gives up on a blocked shard before records are lost. Source:
 * DynamoDB Streams.
 */
export const STREAM_RECORD_AGE_HOURS_MAX = 12

/** Few retries suffice: the next round of the sweeper begins within a minute. */
export const SWEEP_RETRIES_MAX = 3
/** The shortest event age that Scheduler accepts. Source: EventBridge Scheduler, RetryPolicy. */
export const SWEEP_EVENT_AGE_S_MAX = 60

/** Fargate's smallest CPU. Source: Fargate task sizes. */
export const WORKER_CPU_UNITS = 256
/** The smallest memory for that CPU. Source: Fargate task sizes. */
export const WORKER_MEMORY_MB = 512
/** The legal memory sizes for each number of CPU units. 512 MB is legal with 256, too. Source: Fargate task sizes. */
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
/** The default of `minTasks`, the fewest containers of a service. */
export const SERVICE_CONTAINERS_MIN = 1
/** The default of `maxTasks`, the most containers of a service. */
export const SERVICE_CONTAINERS_MAX = 10
/** A container without a sign of life for this long is replaced. A worker touches its file every 10 s. */
export const SIGN_OF_LIFE_AGE_S_MAX = 60
/** How often the health check of a container runs. Source: ECS, HealthCheck (5–300 s). */
export const HEALTH_CHECK_S = 30
/** The longest time in which a starting container may fail its check. Source: ECS, HealthCheck. */
export const HEALTH_CHECK_START_S = 300
/** The most containers of one service. Source: ECS quotas, tasks per service. */
export const SERVICE_CONTAINERS_QUOTA = 5_000
/** The longest time between SIGTERM and SIGKILL. Source: ECS on Fargate, stopTimeout. */
export const STOP_TIMEOUT_S_MAX = 120
/** After draining, a worker has this long to release its runs and to end. */
export const WORKER_STOP_MARGIN_S = 10
export const WORKER_DRAIN_S = STOP_TIMEOUT_S_MAX - WORKER_STOP_MARGIN_S
/** A metric expression reads at most 10 metrics, and one of them counts the running containers. Source: CloudWatch quotas. */
export const SCALED_QUEUES_MAX = 9
/** A container starts within a minute. An earlier second decision would count the same backlog twice. */
export const SCALE_OUT_COOLDOWN_S = 60
export const SCALE_IN_COOLDOWN_S = 300

export const LOG_RETENTION_DAYS = 30

export const ALARM_PERIOD_MINUTES = 5
export const ITERATOR_AGE_MS_MAX = 60_000

/** The most resources of one stack. Source: CloudFormation quotas. */
export const STACK_RESOURCES_MAX = 500
/** The most parameters of one template. Source: CloudFormation quotas. */
export const STACK_PARAMETERS_MAX = 200
/** The most outputs of one template. Source: CloudFormation quotas. */
export const STACK_OUTPUTS_MAX = 200
/**
 * How many handlers stand in the system's own stack, by its level of alarms. A handler takes 8 resources, and 10 with `all`; the
 * system itself takes 62 with `none`, 70 with `essential` and 90 with `all`, and its nested stacks 20. So the system takes at most 350
 * of 500 resources, and the app has the rest.
 */
export const HANDLERS_IN_STACK_MAX = { none: 30, essential: 30, all: 24 } as const
/** The resources of a handler's function, and of each type that it serves, by the system's level of alarms. */
export const HANDLER_RESOURCES = {
  none: { perFunction: 4, perType: 4 },
  essential: { perFunction: 4, perType: 4 },
  all: { perFunction: 6, perType: 4 },
} as const
/** With more resources a nested stack takes no further handler. This leaves a tenth of CloudFormation's 500 for what users add. */
export const NESTED_RESOURCES_MAX = 450
/** The record of places counts the types of a function in steps of this many, so that a new type seldom changes the record. */
export const RECORDED_TYPES_STEP = 5
/**
 * The number of nested stacks for further handlers. A hash fills them unevenly: of 300 handlers, one stack has 27 in the usual
 * case, and 34 fit with all alarms. The number may grow, because places are recorded.
 */
export const NESTED_STACKS = 20
/**
 * With the resources of this many handlers the record of their places begins. It begins before the first nested stack, because the handlers that
 * stand in the system's own stack by then must stay there.
 */
export const RECORDED_HANDLERS_MIN = 20
/** Read units per second that a new on-demand table and each of its indexes serve. Source: DynamoDB, warm throughput. */
export const WARM_READ_UNITS_MIN = 12_000
/** Write units per second that a new on-demand table and each of its indexes serve. Source: DynamoDB, warm throughput. */
export const WARM_WRITE_UNITS_MIN = 4_000

/** The most write units per second of a table, by default. Source: DynamoDB quotas. */
export const TABLE_WRITE_UNITS_MAX = 40_000
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
/** The largest maximum concurrency of an SQS mapping. Source: Lambda event source mapping API reference. */
export const MAPPING_CONCURRENCY_MAX = 1_000
/** A run is aborted 3 s before its function ends. A function with a shorter timeout would leave its runs no time. */
export const HANDLER_TIMEOUT_S_MIN = 10

/** The most characters of all inline policies of a role, without white space. Source: IAM and STS quotas. */
export const INLINE_CHARACTERS_MAX = 10_240
/** The most characters of a managed policy, without white space. Source: IAM and STS quotas. */
export const MANAGED_CHARACTERS_MAX = 6_144
/** The most managed policies of a role by default; an account may raise it to 25. Source: IAM and STS quotas. */
export const MANAGED_POLICIES_MAX = 10
/** Larger grants of types to one role are managed policies. The rest of the inline policies is for logs, queues and the user. */
export const GRANTS_INLINE_CHARACTERS_MAX = 4_000
