/**
 * The Lambda functions of the system itself. `planner.ts`, `waker.ts`, `jobs.ts` and `sweeper.ts` are one construct each: a
 * function, what triggers it and what it may do. This file makes a function with its role and log group. `bundling.ts`
 * says how code is bundled, `function-file.ts` where it stands, `generated-file.ts` writes what is generated.
 */

import type { Duration } from 'aws-cdk-lib'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  ApplicationLogLevel,
  Architecture,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import { type BundlingOptions, NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { FUNCTION_MEMORY_MB } from '../bounds.ts'
import { watchFunction } from '../monitoring/alarms.ts'
import type { LogLevel, Settings } from '../settings.ts'
import { SYSTEM_BUNDLING } from './bundling.ts'

export type FunctionSpec = {
  /** Absolute path of the file that exports `handler`. */
  readonly entry: string
  readonly description: string
  readonly timeout: Duration
  /** Megabytes. @default 512 */
  readonly memorySize?: number
  readonly reservedConcurrency?: number
  /** @default that of the system's own functions */
  readonly logLevel?: LogLevel
  readonly environment?: Readonly<Record<string, string>>
  /** @default that of the system's own code */
  readonly bundling?: BundlingOptions
  /** The function may be part of a loop through SQS longer than the 16 hops after which Lambda stops it. */
  readonly allowRecursion?: boolean
  /** Nothing but its errors tells that it fails. */
  readonly failsSilently?: boolean
}

/** A function of the system; its role may write its logs and traces, everything else is granted by what it uses. */
export function createFunction(scope: Construct, settings: Settings, spec: FunctionSpec): NodejsFunction {
  const logLevel = spec.logLevel ?? settings.logLevel
  const logGroup = new LogGroup(scope, 'Logs', {
    retention: settings.logRetention,
    removalPolicy: settings.removalPolicy,
  })
  // A role of its own: the managed policy that CDK would attach may write to every log group of the account.
  const role = new Role(scope, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  logGroup.grantWrite(role)
  const fn = new NodejsFunction(scope, 'Function', {
    entry: spec.entry,
    description: spec.description,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    memorySize: spec.memorySize ?? FUNCTION_MEMORY_MB,
    timeout: spec.timeout,
    role,
    logGroup,
    ...logFilters(logLevel),
    tracing: settings.tracing === 'sampled' ? Tracing.ACTIVE : Tracing.DISABLED,
    recursiveLoop: spec.allowRecursion ? RecursiveLoop.ALLOW : RecursiveLoop.TERMINATE,
    ...(spec.reservedConcurrency !== undefined && { reservedConcurrentExecutions: spec.reservedConcurrency }),
    environment: { ...environmentOf(settings, logLevel), ...spec.environment },
    awsSdkConnectionReuse: false,
    bundling: spec.bundling ?? SYSTEM_BUNDLING,
  })
  watchFunction(scope, settings, fn, spec.failsSilently)
  return fn
}

/** What all code of the system is told. `BATON_TABLE` and the addresses of queues are set where the permission to use them is given. */
export function environmentOf({ system, typeMetrics }: Settings, logLevel: LogLevel): Record<string, string> {
  return {
    BATON_SYSTEM: system,
    POWERTOOLS_SERVICE_NAME: system,
    POWERTOOLS_LOG_LEVEL: logLevel,
    POWERTOOLS_METRICS_NAMESPACE: 'Baton',
    // Left out of the template while the app asks for none.
    BATON_TYPE_METRICS: typeMetrics.text(),
    NODE_OPTIONS: '--enable-source-maps',
  }
}

/**
 * The library filters by level itself. Lambda's own filter for application lines stays at INFO at least, because it
 * takes metrics, which are lines without a level, for INFO. Its own start and report lines, three an invocation and longer than a
 * run's line, are kept for DEBUG only.
 */
function logFilters(level: LogLevel) {
  const isDetailed = level === 'DEBUG'
  return {
    loggingFormat: LoggingFormat.JSON,
    applicationLogLevelV2: isDetailed ? ApplicationLogLevel.DEBUG : ApplicationLogLevel.INFO,
    systemLogLevelV2: isDetailed ? SystemLogLevel.INFO : SystemLogLevel.WARN,
  }
}

/** The option of keeping concurrency apart for one function, so that handlers cannot starve it. */
export function reserving(
  reservedConcurrency: number | undefined,
): Pick<FunctionSpec, 'reservedConcurrency'> {
  return reservedConcurrency === undefined ? {} : { reservedConcurrency }
}
