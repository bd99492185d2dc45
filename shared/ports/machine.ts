/** Ports: time, randomness, log lines and metrics. `messages.ts` has the ports that send and receive, and `stores.ts` those that store. */

/** The two clocks of a process, in milliseconds, and waiting. */
export type Clock = {
  /** Milliseconds since the epoch. The machine may set it back or forward at any time. */
  now(): number
  /** Milliseconds since some moment of this process. It never goes back. It does not advance while the process is frozen. */
  monotonic(): number
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The randomness of a process. */
export type Chance = {
  /** A new ULID whose time part is `now`. ULIDs of one time sort in the order in which they were made. */
  ulid(now: number): string
  /** A random number, at least 0 and less than 1. */
  fraction(): number
}

/** Writes structured log lines. `fields` carry ids. */
export type Log = {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** Counts and durations that alarms and dashboards read. */
export type MetricName =
  | 'Lateness'
  | 'ClaimConflict'
  | 'LeaseLost'
  | 'LookLoop'
  | 'UnscheduledMinute'
  | 'SweeperRepaired'
  | 'Stuck'
  | 'NeedsAttention'
  /** The table refuses to store a task, or the task's stored form cannot be read. No other task is affected. */
  | 'TaskFault'
  | 'RunTime'
  | 'Published'
  | 'Succeeded'
  | 'Failed'
  | 'Retried'

export type Metrics = {
  /** Adds to a metric of a task type. `Lateness` and `RunTime` are in milliseconds, the others are counts. */
  add(name: MetricName, value: number, type: string): void
}
