/** Ports: time, chance, and what is told of the work. */
/** The two clocks of a process, in milliseconds, and waiting. */
export type Clock = {
  /** Since the epoch. May be set back or forward at any time. */
  now(): number
  /** Since some moment of this process. Never goes back; stands still while the process is frozen with its machine. */
  monotonic(): number
  /** Resolves after `ms`, or at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Everything random. */
export type Chance = {
  /** A new ULID whose time part is `now`. Those of one time sort in the order in which they were made. */
  ulid(now: number): string
  /** At least 0, less than 1. */
  fraction(): number
}

/** Structured log lines; `fields` carry ids. */
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
  /** A task's own fault kept it from being worked on: what is to be stored of it is refused, or cannot be read. */
  | 'TaskFault'
  | 'RunTime'
  | 'Published'
  | 'Succeeded'
  | 'Failed'
  | 'Retried'

export type Metrics = {
  /** `Lateness` and `RunTime` in milliseconds, the rest counts. */
  add(name: MetricName, value: number, type: string): void
}
