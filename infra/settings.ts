import { RemovalPolicy, Stack, Token } from 'aws-cdk-lib'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { BatonError } from '../shared/core/errors.ts'
import { LOG_RETENTION_DAYS, MAX_SYSTEM_NAME_LENGTH } from './limits.ts'

export type LogLevel = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'

/** What all parts of one system share. */
export type Settings = {
  /** Prefix of the physical names of the types' queues; unique in account and region. */
  readonly system: string
  readonly logLevel: LogLevel
  readonly logRetention: RetentionDays
  /** What becomes of the table and the logs when the stack goes. */
  readonly removalPolicy: RemovalPolicy
  readonly alarmTopic?: ITopic
}

export type SettingsProps = {
  /**
   * Name of this system: it begins the names of the queues, so it must be unique in account and region.
   * 1–40 letters, digits and hyphens, beginning with a letter.
   * @default the stack's name
   */
  readonly systemName?: string
  /** Least level of log lines. @default 'WARN' */
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
}

/** @throws BatonError `invalid` when there is no usable system name. */
export function settingsOf(scope: Construct, props: SettingsProps): Settings {
  return {
    system: systemNameOf(scope, props.systemName),
    logLevel: props.logLevel ?? 'WARN',
    logRetention: props.logRetention ?? (LOG_RETENTION_DAYS as RetentionDays),
    removalPolicy: props.removalPolicy ?? RemovalPolicy.RETAIN,
    ...(props.alarmTopic && { alarmTopic: props.alarmTopic }),
  }
}

const SYSTEM_NAME = new RegExp(`^[A-Za-z][A-Za-z0-9-]{0,${MAX_SYSTEM_NAME_LENGTH - 1}}$`)

function systemNameOf(scope: Construct, given: string | undefined): string {
  const name = given ?? Stack.of(scope).stackName
  if (Token.isUnresolved(name)) {
    throw new BatonError('invalid', `the stack of ${scope.node.path} has no fixed name; give 'systemName'`)
  }
  // A system named 'a-q-b' would own queues that the permissions of system 'a' cover.
  if (!SYSTEM_NAME.test(name) || name.includes('-q-')) {
    const legal = `1–${MAX_SYSTEM_NAME_LENGTH} of A–Z a–z 0–9 -, beginning with a letter, without '-q-'`
    throw new BatonError('invalid', `'${name}' is no name of a system: give 'systemName' with ${legal}`)
  }
  return name
}
