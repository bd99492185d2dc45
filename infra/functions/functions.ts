/**
 * The Lambda functions of the system itself. `machinery.ts` has one construct for each of planner, waker, jobs and
 * sweeper: a function, its trigger and its permissions. `api.ts` has the HTTP API. This file creates a function with its role and its log group. The room `bundling`
 * makes its code.
 */

import type { Duration, Size } from 'aws-cdk-lib'
import type { ISecurityGroup, IVpc, SecurityGroup, SubnetSelection, Vpc } from 'aws-cdk-lib/aws-ec2'
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import * as lambda from 'aws-cdk-lib/aws-lambda'
import { LogGroup } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { defined } from '../../shared/core/values/values.ts'
import { watchFunction } from '../alarms.ts'
import type { Cpu } from '../bundling/native.ts'
import type { LogLevel, Settings } from '../settings.ts'

/**
 * With this memory a function has about 0.3 of a CPU, and its imports take half as long as with 256 MB. Source: Lambda
 * configuration, memory.
 */
const FUNCTION_MEMORY_MB = 512

type FunctionSpec = {
  /** A folder whose `index.mjs` exports `handler`. */
  readonly code: lambda.Code
  readonly description: string
  readonly timeout: Duration
  /** Megabytes. @default 512 */
  readonly memorySize?: number | undefined
  readonly reservedConcurrency?: number | undefined
  /** @default that of the system's own functions */
  readonly logLevel?: LogLevel
  readonly environment?: Readonly<Record<string, string>>
  /** Whether Lambda lets the function extend a chain of SQS messages beyond 16 hops. @default false */
  readonly allowRecursion?: boolean
  /**
   * Whether nothing but Lambda's metric of the function's errors shows that it fails. The alarm on that metric is then essential.
   * @default false
   */
  readonly failsSilently?: boolean
  /** The processor, the network and the layers of a user's function. @default arm64, without network and layers */
  readonly placement?: FunctionPlacement
}

/** Creates a function of the system. Its role may write logs and traces; each resource that it uses grants the rest. */
export function createFunction(scope: Construct, settings: Settings, spec: FunctionSpec): lambda.Function {
  const logLevel = spec.logLevel ?? settings.logLevel
  const logGroup = new LogGroup(scope, 'Logs', {
    retention: settings.logRetention,
    removalPolicy: settings.logRemovalPolicy,
  })
  // CDK's own role would have a managed policy that may write to every log group of the account.
  const role = new Role(scope, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  logGroup.grantWrite(role)
  if (spec.placement?.vpc) allowNetworkInterfaces(role)
  const fn = new lambda.Function(scope, 'Function', {
    code: spec.code,
    handler: 'index.handler',
    description: spec.description,
    runtime: lambda.Runtime.NODEJS_24_X,
    ...placed(spec.placement),
    memorySize: spec.memorySize ?? FUNCTION_MEMORY_MB,
    timeout: spec.timeout,
    role,
    logGroup,
    ...logFilters(logLevel),
    tracing: settings.tracing === 'sampled' ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
    recursiveLoop: spec.allowRecursion ? lambda.RecursiveLoop.ALLOW : lambda.RecursiveLoop.TERMINATE,
    ...defined({ reservedConcurrentExecutions: spec.reservedConcurrency }),
    environment: { ...environmentOf(settings, logLevel), ...spec.environment },
  })
  watchFunction(scope, settings, fn, spec.failsSilently)
  return fn
}

/** The environment of all code of the system. A grant of the table or of a queue adds `BATON_TABLE` or the queue's URL. */
export function environmentOf({ system, typeMetrics }: Settings, logLevel: LogLevel): Record<string, string> {
  return {
    BATON_SYSTEM: system,
    POWERTOOLS_SERVICE_NAME: system,
    POWERTOOLS_LOG_LEVEL: logLevel,
    POWERTOOLS_METRICS_NAMESPACE: 'Baton',
    // The template omits it until the app asks for a metric of a type.
    BATON_TYPE_METRICS: typeMetrics.text(),
    NODE_OPTIONS: '--enable-source-maps',
  }
}

/**
 * Sets Lambda's own filters. The logger filters by level, too. Lambda's filter for application lines is never above INFO: it
 * treats lines without a level, which metrics are, as INFO. Lambda's start and report lines are kept at DEBUG only: there are
 * three per invocation, and they are longer than a run's line.
 */
function logFilters(level: LogLevel) {
  const isDetailed = level === 'DEBUG'
  return {
    loggingFormat: lambda.LoggingFormat.JSON,
    applicationLogLevelV2: isDetailed ? lambda.ApplicationLogLevel.DEBUG : lambda.ApplicationLogLevel.INFO,
    systemLogLevelV2: isDetailed ? lambda.SystemLogLevel.INFO : lambda.SystemLogLevel.WARN,
  }
}

/** Where a function runs: its processor, its layers, its storage, its network. */
export type FunctionPlacement = {
  /** The size of the folder `/tmp`, 512–10,240 MB. @default 512 MB */
  readonly ephemeralStorageSize?: Size
  /** The processor. Native packages in `bundling.nodeModules` are copied in their build for it. @default Architecture.ARM_64 */
  readonly architecture?: lambda.Architecture
  /** At most five layers, for the function's architecture. @default none */
  readonly layers?: ReadonlyArray<lambda.ILayerVersion | lambda.LayerVersion>
  /**
   * The network that the function has access to. It needs a route to DynamoDB, SQS and CloudWatch Logs: a NAT gateway or endpoints.
   * @default none; the function reaches public addresses only
   */
  readonly vpc?: IVpc | Vpc
  /** @default the network's private subnets */
  readonly vpcSubnets?: SubnetSelection
  /** @default a new group that admits no connection */
  readonly securityGroups?: ReadonlyArray<ISecurityGroup | SecurityGroup>
  /** Whether public subnets are allowed. A function has no access to the internet from there. @default false */
  readonly allowPublicSubnet?: boolean
}

/** The processor of an architecture, as npm names it. */
export function cpuOf({ name }: lambda.Architecture = lambda.Architecture.ARM_64): Cpu {
  return name === lambda.Architecture.X86_64.name ? 'x64' : 'arm64'
}

/** The assertions are needed because CDK's classes do not satisfy its interfaces under `exactOptionalPropertyTypes`. */
function placed({ architecture = lambda.Architecture.ARM_64, ...placement }: FunctionPlacement = {}) {
  const { ephemeralStorageSize, layers, vpc, vpcSubnets, securityGroups, allowPublicSubnet } = placement
  return {
    architecture,
    ...defined({ ephemeralStorageSize, vpc: vpc as IVpc | undefined, vpcSubnets, allowPublicSubnet }),
    ...(layers && { layers: layers as lambda.ILayerVersion[] }),
    ...(securityGroups && { securityGroups: securityGroups as ISecurityGroup[] }),
  }
}

/** Lambda connects a function to a network under the function's own role. IAM limits these actions to no resource. */
function allowNetworkInterfaces(role: Role): void {
  const actions = [
    'AssignPrivateIpAddresses',
    'CreateNetworkInterface',
    'DeleteNetworkInterface',
    'DescribeNetworkInterfaces',
    'DescribeSubnets',
    'UnassignPrivateIpAddresses',
  ]
  role.addToPolicy(new PolicyStatement({ actions: actions.map(action => `ec2:${action}`), resources: ['*'] }))
}
