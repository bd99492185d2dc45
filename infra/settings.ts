import { Lazy, RemovalPolicy, Stack, Token } from 'aws-cdk-lib'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { EVERY_TYPE } from '../shared/core/bounds.ts'
import { illegal } from '../shared/core/values/values.ts'
import type { MetricName } from '../shared/ports/machine.ts'

/** This length leaves room in a queue's name for `-q-` and the hash of a long type. SQS allows 80 characters. Source: SQS quotas. */
const SYSTEM_NAME_CHARACTERS_MAX = 40

const LOG_RETENTION_DAYS = 30

export type LogLevel = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'

/** `sampled`: X-Ray traces a sample of the invocations of every function, by the account's sampling rules. */
export type TracingMode = 'off' | 'sampled'

/** Which alarms are made. CloudWatch charges $0.10 a month for each metric that an alarm watches. */
export type AlarmLevel = 'all' | 'essential' | 'none'

/** The settings that all parts of one system share. */
export type Settings = ReturnType<typeof settingsOf>

export type SettingsProps = {
  /**
   * The name of this system. The names of the queues begin with it, so it must be unique in account and region.
   * 1–40 letters, digits and hyphens, beginning with a letter.
   * @default the stack's name
   */
  readonly systemName?: string
  /**
   * The least level of log lines, for the system's own functions and for handlers and workers that set no level. At `INFO` a
   * handler or worker writes one line per run.
   * @default 'WARN' for the system's own functions, 'INFO' for handlers and workers
   */
  readonly logLevel?: LogLevel
  /** @default 30 days */
  readonly logRetention?: RetentionDays
  /**
   * `RETAIN` keeps the table and its logs when the stack is deleted, and protects the table from deletion. `DESTROY` is for
   * development.
   * @default RemovalPolicy.RETAIN
   */
  readonly removalPolicy?: RemovalPolicy
  /** Receives every alarm. @default alarms change their state without a notification */
  readonly alarmTopic?: ITopic
  /**
   * `essential`: messages that were given up, a late planner, a sweeper that is not invoked or fails, server errors of the API,
   * stuck tasks, flows that need attention, too few worker containers. `all`: also errors and throttles of each function,
   * throttling of the table and of each index, looks that loop.
   * @default 'essential'
   */
  readonly alarms?: AlarmLevel
  /** Whether X-Ray traces invocations, at about $1.50 per million tasks when all are sampled. @default 'off' */
  readonly tracing?: TracingMode
  /**
   * How the metrics `Published`, `Succeeded`, `Failed` and `Retried` are kept. `system`: for all types together, and for the
   * types that `alarmOnFailures` names. `perType`: also for each type, at $0.30 a month for each metric and type with data.
   * @default 'system'
   */
  readonly metrics?: MetricsScope
}

/** @throws BatonError `invalid` when the system name or another setting is not legal. */
export function settingsOf(scope: Construct, props: SettingsProps) {
  const { removalPolicy = RemovalPolicy.RETAIN } = props
  const isKept = removalPolicy === RemovalPolicy.RETAIN
  return {
    /** Prefix of the physical names of the types' queues; unique in account and region. */
    system: systemNameOf(scope, props.systemName),
    /** The log level of the system's own functions. */
    logLevel: levelOf(props.logLevel) ?? 'WARN',
    /** The log level of handlers and worker services that set none. */
    handlerLogLevel: levelOf(props.logLevel) ?? 'INFO',
    logRetention: props.logRetention ?? (LOG_RETENTION_DAYS as RetentionDays),
    /** What happens to the table when the stack is deleted. */
    removalPolicy,
    /** What happens to the logs then. A failed first deployment deletes those that it has created. */
    logRemovalPolicy: isKept ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : removalPolicy,
    ...(props.alarmTopic && { alarmTopic: props.alarmTopic }),
    alarms: oneOf('alarms', props.alarms ?? 'essential', ['all', 'essential', 'none']),
    tracing: oneOf('tracing', props.tracing ?? 'off', ['off', 'sampled']),
    /** The metrics of single types that the app asked for. */
    typeMetrics: new TypeMetrics(oneOf('metrics', props.metrics ?? 'system', ['system', 'perType'])),
  }
}

/** @throws BatonError `invalid` for an unknown level. */
export function levelOf(level: LogLevel | undefined): LogLevel | undefined {
  return level === undefined
    ? undefined
    : oneOf<LogLevel>('logLevel', level, ['DEBUG', 'INFO', 'WARN', 'ERROR'])
}

/** @throws BatonError `invalid` for a value that the compiler would have refused. */
function oneOf<Value extends string>(name: string, value: Value, legal: readonly Value[]): Value {
  if (legal.includes(value)) return value
  throw illegal(`${name} is '${value}'; give ${legal.map(one => `'${one}'`).join(', ')}`)
}

const SYSTEM_NAME = new RegExp(`^[A-Za-z][A-Za-z0-9-]{0,${SYSTEM_NAME_CHARACTERS_MAX - 1}}$`)

function systemNameOf(scope: Construct, given: string | undefined): string {
  const name = given ?? Stack.of(scope).stackName
  if (Token.isUnresolved(name)) {
    throw illegal(`the stack of ${scope.node.path} has no fixed name; give 'systemName'`)
  }
  // The permissions of a system 'a' would cover the queues of a system 'a-q-b'.
  if (!SYSTEM_NAME.test(name) || name.includes('-q-')) {
    const legal = `1–${SYSTEM_NAME_CHARACTERS_MAX} of A–Z a–z 0–9 -, beginning with a letter, without '-q-'`
    throw illegal(`'${name}' is not a legal system name; give 'systemName' with ${legal}`)
  }
  return name
}

/** Whether the outcomes of tasks are counted for the system as a whole, or also for each type. */
export type MetricsScope = 'system' | 'perType'

/** The metrics that `metrics: 'perType'` keeps for each type. */
const OUTCOMES: readonly MetricName[] = ['Published', 'Succeeded', 'Failed', 'Retried']

/** The longest `BATON_TYPE_METRICS`. Lambda allows 4 KB for all variables of a function. */
const TYPE_METRICS_CHARACTERS_MAX = 1_500

/**
 * Which metrics are kept for which types. CloudWatch charges $0.30 a month for each metric of each type. So functions keep a
 * metric for all types together, and for a single type only if the app asked for it.
 */
class TypeMetrics {
  private readonly metricsOfTypes: Set<string>

  constructor(scope: MetricsScope) {
    this.metricsOfTypes = new Set(scope === 'perType' ? OUTCOMES.map(name => `${name}:${EVERY_TYPE}`) : [])
  }

  ask(name: MetricName, type: string): void {
    if (type !== EVERY_TYPE) this.metricsOfTypes.add(`${name}:${type}`)
  }

  /**
   * The value of `BATON_TYPE_METRICS`. It is resolved at synthesis, so it includes metrics that the app asks for later. When the
   * names of the types are too long, the same metrics are kept for every type.
   *
   * `whenNone` is the value when the app asks for no metric of a type. @default none: the template omits the variable
   */
  text(whenNone?: string): string {
    return Lazy.string({
      produce: () => {
        if (this.metricsOfTypes.size === 0) return whenNone
        const text = [...this.metricsOfTypes].sort().join(',')
        if (text.length <= TYPE_METRICS_CHARACTERS_MAX) return text
        const forEveryType = [...this.metricsOfTypes].map(one => one.replace(/:.*/, `:${EVERY_TYPE}`))
        return [...new Set(forEveryType)].sort().join(',')
      },
    })
  }
}
