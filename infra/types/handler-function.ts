import { ArnFormat, Stack } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { queueNameOf } from '../../shared/core/types/task-type.ts'
import { WEBHOOK_CONFIGURATION, WEBHOOK_TYPE } from '../../shared/core/types/webhook.ts'
import type { SystemFunction } from '../bundling/code.ts'
import type { Parts } from '../parts.ts'
import { allow } from '../permissions/permissions.ts'
import { type FoundDefinition, readDefinition, refuseHttp, type TaskSpec, withProps } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import { HANDLER_NAMES, refuseFunctionProps, refuseTimeouts, refuseUnloadable } from './refuse-props.ts'
import type { TypeRegistrar } from './types.ts'
import { createUserFunction, feedFrom } from './user-function.ts'

export type HandlerProps = FunctionProps & {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
}

/** A handler that ships with the system: its code is one of the system's functions, and its definition is known. */
type Shipped = { readonly code: SystemFunction; readonly definition: TaskSpec }

type AnyHandlerProps = HandlerProps & { readonly shipped?: Shipped }

/**
 * Serves a task type with a function, the queue that feeds it, and the registration of the type. Moving a type to another
 * construct id takes two deployments, because its queue's name is fixed.
 */
export class HandlerFunction extends Construct {
  readonly type: string
  /** The handler's function. Grant it what the handler needs. */
  readonly function: LambdaFunction
  readonly queue: Queue
  /** The dead-letter queue of the system. All queues share it. */
  readonly deadLetterQueue: Queue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, given: AnyHandlerProps) {
    super(scope, id)
    const { shipped, ...props } = given
    refuseUnloadable(props.entry, props, HANDLER_NAMES)
    const definition = withProps(definitionOf(given), props)
    refuseHttp(definition)
    refuseFunctionProps(`${props.entry}, task '${definition.type}'`, props)
    refuseTimeouts(props.entry, definition, props.timeout)
    this.type = definition.type
    const served = createUserFunction(
      this,
      parts,
      {
        entry: props.entry,
        name: queueNameOf(parts.settings.system, this.type),
        definitions: [definition],
        shipped: shipped?.code,
      },
      props,
    )
    const source = feedFrom(this, parts, registrar, { definition, served, props })
    this.function = served.fn
    this.queue = source.queue
    this.deadLetterQueue = source.deadLetterQueue
  }

  /** Returns the metric of the messages that wait in the queue. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}

function definitionOf({ entry, task, bundling, shipped }: AnyHandlerProps): FoundDefinition {
  if (!shipped) return readDefinition(entry, task, bundling)
  return { ...shipped.definition, file: entry, exportName: shipped.definition.type }
}

const SHIPPED: Shipped = {
  code: 'webhook',
  definition: { type: WEBHOOK_TYPE, config: WEBHOOK_CONFIGURATION },
}

/**
 * The shipped handler of all types of kind `webhook`. It may read the secrets that sign its calls: those named
 * `<system>/webhook/…`.
 */
export class WebhookHandler extends HandlerFunction {
  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar) {
    super(scope, id, parts, registrar, { entry: 'the shipped webhook', shipped: SHIPPED })
    const secrets = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${parts.settings.system}/webhook/*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    allow(this.function, { actions: ['secretsmanager:GetSecretValue'], resources: [secrets] })
  }
}
