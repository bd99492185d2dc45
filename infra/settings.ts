import { RemovalPolicy, Stack, Token } from 'aws-cdk-lib'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { BatonError } from '../shared/core/errors.ts'
import { LOG_RETENTION_DAYS, SYSTEM_NAME_CHARACTERS_MAX } from './bounds.ts'
import { TypeMetrics } from './monitoring/monitoring.ts'

export type LogLevel = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'

/** `sampled`: X-Ray traces a sample of the invocations of every function, by the account's sampling rules. */
export type TracingMode = 'off' | 'sampled'

/** Which alarms are made; CloudWatch takes $0.10 a month for each metric that an alarm watches. */
export type AlarmLevel = 'all' | 'essential' | 'none'

/** Whether the outcomes of tasks are counted for the system as a whole, or also for each type. */
export type MetricsScope = 'system' | 'perType'

/** What all parts of one system share. */
export type Settings = {
  /** Prefix of the physical names of the types' queues; unique in account and region. */
  readonly system: string
  /** Of the system's own functions. */
  readonly logLevel: LogLevel
  /** Of handlers and worker services that say nothing else. */
  readonly handlerLogLevel: LogLevel
  readonly logRetention: RetentionDays
  /** What becomes of the table and the logs when the stack goes. */
  readonly removalPolicy: RemovalPolicy
  readonly alarmTopic?: ITopic
  readonly alarms: AlarmLevel
  readonly tracing: TracingMode
  /** The metrics that are kept for single types, because the app asked for them. */
  readonly typeMetrics: TypeMetrics
}

export type SettingsProps = {
  /**
   * Name of this system: it begins the names of the queues, so it must be unique in account and region.
   * 1–40 letters, digits and hyphens, beginning with a letter.
   * @default the stack's name
   */
  readonly systemName?: string
  /**
   * Least level of log lines, of the system's own functions and of handlers and workers that name no level of their own.
   * @default 'WARN' for the system's own functions, 'INFO' for handlers and workers: a line for each run, and what handlers log
   */
  readonly logLevel?: LogLevel
  /** @default 30 days */
  readonly logRetention?: RetentionDays
  /**
   * `RETAIN` keeps the table and its logs when the stack goes and protects the table from deletion; `DESTROY` is for
   * development.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy
  /** Receives every alarm. @default alarms change their state and notify nobody */
  readonly alarmTopic?: ITopic
  /**
   * `essential`: messages that were given up, a planner that falls behind, a sweeper that is not called or fails, server errors of
   * the API, stuck tasks, flows that need attention. `all`: also errors and throttles of each function, throttling of the
   * table and of each index, looks in circles.
   * @default 'essential'
   */
  readonly alarms?: AlarmLevel
  /** Whether X-Ray traces invocations, at about $1.50 per million tasks when all are sampled. @default 'off' */
  readonly tracing?: TracingMode
  /**
   * For what the metrics `Published`, `Succeeded`, `Failed` and `Retried` are kept. `perType`: for each type, too, at $0.30 a month
   * for each metric and type in which something happens; else for all types together, and for types that `alarmOnFailures` names.
   * @default 'system'
   */
  readonly metrics?: MetricsScope
}

/** @throws BatonError `invalid` when there is no usable system name. */
export function settingsOf(scope: Construct, props: SettingsProps): Settings {
  return {
    system: systemNameOf(scope, props.systemName),
    logLevel: levelOf(props.logLevel) ?? 'WARN',
    handlerLogLevel: levelOf(props.logLevel) ?? 'INFO',
    logRetention: props.logRetention ?? (LOG_RETENTION_DAYS as RetentionDays),
    removalPolicy: props.removalPolicy ?? RemovalPolicy.RETAIN,
    ...(props.alarmTopic && { alarmTopic: props.alarmTopic }),
    alarms: oneOf('alarms', props.alarms ?? 'essential', ['all', 'essential', 'none']),
    tracing: oneOf('tracing', props.tracing ?? 'off', ['off', 'sampled']),
    typeMetrics: new TypeMetrics(oneOf('metrics', props.metrics ?? 'system', ['system', 'perType'])),
  }
}

/** @throws BatonError `invalid` for what is no level. */
export function levelOf(level: LogLevel | undefined): LogLevel | undefined {
  return level === undefined
    ? undefined
    : oneOf<LogLevel>('logLevel', level, ['DEBUG', 'INFO', 'WARN', 'ERROR'])
}

/** @throws BatonError `invalid` for a value that the compiler would have refused. */
function oneOf<Value extends string>(name: string, value: Value, legal: readonly Value[]): Value {
  if (legal.includes(value)) return value
  throw new BatonError('invalid', `${name} is '${value}'; give ${legal.map(one => `'${one}'`).join(', ')}`)
}

const SYSTEM_NAME = new RegExp(`^[A-Za-z][A-Za-z0-9-]{0,${SYSTEM_NAME_CHARACTERS_MAX - 1}}$`)

function systemNameOf(scope: Construct, given: string | undefined): string {
  const name = given ?? Stack.of(scope).stackName
  if (Token.isUnresolved(name)) {
    throw new BatonError('invalid', `the stack of ${scope.node.path} has no fixed name; give 'systemName'`)
  }
  // A system named 'a-q-b' would own queues that the permissions of system 'a' cover.
  if (!SYSTEM_NAME.test(name) || name.includes('-q-')) {
    const legal = `1–${SYSTEM_NAME_CHARACTERS_MAX} of A–Z a–z 0–9 -, beginning with a letter, without '-q-'`
    throw new BatonError('invalid', `'${name}' is no name of a system: give 'systemName' with ${legal}`)
  }
  return name
}
