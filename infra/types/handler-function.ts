import { Duration } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { queueNameOf } from '../../shared/core/types/queue-name.ts'
import type { TypeConfiguration } from '../../shared/core/types/task-type.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_TYPE } from '../../shared/core/types/webhook-type.ts'
import {
  FUNCTION_TIMEOUT_S_MAX,
  HANDLER_CONCURRENCY_MAX,
  HANDLER_MARGIN_S,
  HANDLER_TIMEOUT_S,
} from '../bounds.ts'
import { handlerCode } from '../bundling/handler-code.ts'
import { type SystemFunction, systemCode } from '../bundling/system-code.ts'
import { createFunction, reserving } from '../functions/functions.ts'
import type { Parts } from '../parts.ts'
import { grantTableToWorker } from '../permissions/table-access.ts'
import { typesWithin } from '../permissions/type-reach.ts'
import { type MappingOptions, SourceQueue, visibilityFor } from '../queues/source-queue.ts'
import { type LogLevel, levelOf } from '../settings.ts'
import { type FoundDefinition, readDefinition, refuseHttp, type TaskSpec, withEvents } from './definition.ts'
import { refuseHandlerProps, refuseReserved, WORKER_VERSION } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'

export type HandlerProps = Partial<MappingOptions> & {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
  /** Whether events of its tasks are published on the system's event bus. @default as the definition says, else false */
  readonly events?: boolean
  /** Megabytes, 128–10,240. @default 512 */
  readonly memorySize?: number
  /**
   * The timeout of one invocation, at most 15 minutes.
   * @default 15 s more than the definition's `timeoutMs`, else 5 minutes
   */
  readonly timeout?: Duration
  readonly reservedConcurrency?: number
  /** The least level of log lines. At `INFO` there is one line per run. @default the system's `logLevel`, else 'INFO' */
  readonly logLevel?: LogLevel
  /** Dotted numbers. Tasks with a higher `minWorkerVersion` wait until such a version is deployed. @default none */
  readonly version?: string
  readonly environment?: Readonly<Record<string, string>>
  /**
   * The other types whose tasks its code publishes or whose results it reads. Flows that the app adds need not be
   * listed. A flow that is registered over HTTP must be listed if the handler's type does its steps. With an empty list, the code
   * reaches tasks of its own type only.
   * @default any
   */
  readonly otherTypes?: readonly string[]
}

/** A handler that ships with the system: its code is one of the system's functions, and its definition is known. */
type Shipped = { readonly code: SystemFunction; readonly definition: TaskSpec }

type AnyHandlerProps = HandlerProps & { readonly shipped?: Shipped }

/** The handler of all types of kind `webhook`. */
export const WEBHOOK_PROPS: AnyHandlerProps = {
  entry: 'the shipped webhook',
  shipped: { code: 'webhook', definition: { type: WEBHOOK_TYPE, config: WEBHOOK_CONFIGURATION } },
}

/**
 * Serves a task type with a function, the queue that feeds it, and the registration of the type. Moving a type to another
 * construct id takes two deployments, because its queue's name is fixed.
 */
export class HandlerFunction extends Construct {
  readonly type: string
  /** The handler's function. Grant it what the handler needs. */
  readonly function: LambdaFunction
  readonly queue: Queue
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, props: AnyHandlerProps) {
    super(scope, id)
    const { settings, table, messages } = parts
    const definition = withEvents(definitionOf(props), props.events)
    refuseHttp(definition)
    refuseReserved(props.environment)
    this.type = definition.type
    const queueName = queueNameOf(settings.system, this.type)
    refuseHandlerProps(props.entry, definition, props)
    const timeout = props.timeout ?? timeoutOf(definition.config)
    this.function = createFunction(this, settings, {
      code: props.shipped
        ? systemCode(this, props.shipped.code)
        : handlerCode(this, props.entry, queueName, definition),
      description: `Baton: runs ${this.type}`,
      timeout,
      logLevel: levelOf(props.logLevel) ?? settings.handlerLogLevel,
      ...(props.memorySize !== undefined && { memorySize: props.memorySize }),
      environment: { ...props.environment, ...versionIn(props) },
      ...reserving(props.reservedConcurrency),
    })
    const source = new SourceQueue(this, 'Tasks', settings, {
      queueName,
      visibilityTimeout: visibilityFor(timeout),
    })
    this.queue = source.queue
    this.deadLetterQueue = source.deadLetterQueue
    const others = props.otherTypes ? typesWithin('otherTypes', props.otherTypes) : 'any'
    grantTableToWorker(this.function, parts, {
      // Types of kind `webhook` are registered over HTTP, so their names are not known here.
      types: servesManyTypes(definition.config) ? 'any' : [this.type],
      others,
      isRegistered: false,
    })
    table.nameTo(this.function)
    messages.openTo(this.function, { dispatchesTo: this.queue })
    const mapping = source.feed(this.function, {
      maxConcurrency: maxConcurrencyOf(props),
      ...(props.batchSize !== undefined && { batchSize: props.batchSize }),
    })
    // The type is registered after its mapping is created, and unregistered before the mapping is deleted.
    registrar
      .register(this, 'Registration', definition, { version: props.version })
      .node.addDependency(mapping)
  }

  /** Returns the metric of the messages that wait in the queue. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}

function definitionOf({ entry, task, shipped }: AnyHandlerProps): FoundDefinition {
  return shipped
    ? { ...shipped.definition, file: entry, exportName: shipped.definition.type }
    : readDefinition(entry, task)
}

function versionIn({ version }: HandlerProps): Record<string, string> {
  return version === undefined ? {} : { [WORKER_VERSION]: version }
}

/**
 * Lambda throttles a poller above the reserved concurrency. Each throttle counts as a receive, so good messages would end as
 * dead letters.
 */
function maxConcurrencyOf({ entry, maxConcurrency, reservedConcurrency }: HandlerProps): number {
  const most = reservedConcurrency ?? Number.POSITIVE_INFINITY
  if ((maxConcurrency ?? 0) <= most) return maxConcurrency ?? Math.min(HANDLER_CONCURRENCY_MAX, most)
  const message = `must be at least maxConcurrency, which is ${maxConcurrency}, not ${reservedConcurrency}`
  throw new BatonError('invalid', `${entry}: reservedConcurrency ${message}`)
}

function servesManyTypes({ kind }: TypeConfiguration): boolean {
  return kind === 'webhook'
}

/** The tasks of a batch run concurrently, so a batch takes as long as one task. */
function timeoutOf({ defaults }: TypeConfiguration): Duration {
  const { timeoutMs } = defaults
  if (timeoutMs === undefined) return Duration.seconds(HANDLER_TIMEOUT_S)
  return Duration.seconds(Math.min(Math.ceil(timeoutMs / 1_000) + HANDLER_MARGIN_S, FUNCTION_TIMEOUT_S_MAX))
}
