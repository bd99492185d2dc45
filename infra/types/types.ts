/**
 * The task types that an app adds to its system. `definition.ts` reads a definition from its file; `handlers.ts`
 * serves types with Lambda functions, and a worker queue of this file serves it with workers that run anywhere. A flow needs
 * neither. `refuse-props.ts` says which options are legal. This file registers all of them.
 */

import { relative } from 'node:path'
import { CustomResource, Duration, Lazy } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct, DependencyGroup } from 'constructs'
import { WORKER_VISIBILITY_S } from '../../shared/core/bounds.ts'
import type { TypeKind } from '../../shared/core/states.ts'
import { queueNameOf, type TaskType, type TypeConfiguration } from '../../shared/core/types/task-type.ts'
import { BatonError, defined } from '../../shared/core/values/values.ts'
import { systemCode } from '../bundling/bundling.ts'
import { createFunction } from '../functions/functions.ts'
import { type Parts, SourceQueue } from '../queues.ts'
import type { FoundDefinition, TaskSpec } from './definition.ts'
import { readDefinition, readFlow, refuseHttp, withProps } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import { refuseUnknown } from './refuse-props.ts'

const REGISTRAR_TIMEOUT_S = 60
/** CloudFormation waits this long for a registration instead of its usual hour. */
const REGISTRATION_WAIT_S = 300

/**
 * The longest configuration of one type, as JSON. An asynchronous event of Lambda has at most 256 KB, and a template has at
 * most 1 MB in all. Source: Lambda and CloudFormation quotas.
 */
const CONFIGURATION_CHARACTERS_MAX = 100_000

/** Registers deployed types, and marks a type when its handler is deleted. */
export class TypeRegistrar extends Construct {
  readonly function: LambdaFunction
  private readonly served = new DependencyGroup()
  private readonly deployed = new DependencyGroup()
  private readonly registered = new Map<string, { readonly kind: TypeKind; readonly by: Construct }>()

  constructor(scope: Construct, id: string, { settings, table, messages, reach }: Parts) {
    super(scope, id)
    this.function = createFunction(this, settings, {
      code: systemCode(this, 'registrar'),
      description: 'Baton: makes deployed task types known',
      timeout: Duration.seconds(REGISTRAR_TIMEOUT_S),
    })
    table.openTo(this.function, { items: ['GetItem', 'PutItem'], queries: ['items'] })
    // The app may grant in any order, so the bounds are computed at synthesis. They are set after all types are registered.
    const otherTypes = Lazy.string({ produce: () => JSON.stringify(reach.otherTypes()) })
    this.resource(this, 'OtherTypes', 'OtherTypes', { otherTypes }).node.addDependency(this.deployed)
    // When a deployment changes limits or order, the registrar sends a job. The jobs function applies it to waiting tasks.
    messages.openTo(this.function, { jobs: true })
  }

  /**
   * Registers a type. A Lambda function serves it unless `server` says otherwise.
   *
   * @throws BatonError `invalid` when another construct of the system has registered the type.
   */
  register(scope: Construct, id: string, spec: TaskSpec, server: Server = {}): CustomResource {
    const registration = this.registration(scope, id, spec, server)
    this.served.add(registration)
    return registration
  }

  /** Registers a flow after all served types, even those that the app adds later. */
  registerFlow(scope: Construct, id: string, spec: FoundDefinition): CustomResource {
    const registration = this.registration(scope, id, spec, {})
    registration.node.addDependency(this.served)
    registration.node.addValidation({ validate: () => this.stepProblems(spec) })
    return registration
  }

  /** Sends the configuration as JSON text, since CloudFormation turns every number into text. */
  private registration(
    scope: Construct,
    id: string,
    { type, config }: TaskSpec,
    { servedBy, version }: Server,
  ): CustomResource {
    const twin = this.registered.get(type)?.by
    if (twin) throw new BatonError('invalid', `'${twin.node.id}' already serves the type '${type}'`)
    this.registered.set(type, { kind: config.kind, by: scope })
    const registration = this.resource(scope, id, 'Type', {
      type,
      configuration: JSON.stringify(config),
      ...(servedBy && { servedBy }),
      ...(version !== undefined && { version }),
    })
    this.deployed.add(registration)
    return registration
  }

  private resource(scope: Construct, id: string, kind: string, properties: Record<string, string>) {
    return new CustomResource(scope, id, {
      resourceType: `Custom::Baton${kind}`,
      serviceToken: this.function.functionArn,
      serviceTimeout: Duration.seconds(REGISTRATION_WAIT_S),
      properties,
    })
  }

  /**
   * Finds the steps of a flow that no handler or worker serves. A step given as a definition must be served by this system. A
   * step given by the name of its type may be served elsewhere.
   */
  private stepProblems({ file, type, config, tasks = [] }: FoundDefinition): string[] {
    const defined = new Map(tasks.map(task => [task.type, task.config.kind]))
    return stepsIn(config).flatMap(({ path, type: step }) => {
      const where = `${relative(process.cwd(), file)}, flow '${type}': ${path}`
      if (this.registered.get(step)?.kind === 'flow')
        return [`${where} must name a type that is not a flow; '${step}' is a flow`]
      const isServed = this.registered.has(step) || !defined.has(step) || defined.get(step) === 'http'
      if (isServed) return []
      const help = 'add it with addHandler, addWorkerQueue or addWorkerService'
      return [`${where} is done by '${step}', which nothing here serves; ${help}`]
    })
  }
}

type Server = { readonly servedBy?: TaskType['servedBy']; readonly version?: string | undefined }

function stepsIn({ steps = [] }: TypeConfiguration): Array<{ readonly path: string; readonly type: string }> {
  return steps.flatMap((step, index) => [
    { path: `steps.${index}.do`, type: step.do.type },
    ...(step.undo ? [{ path: `steps.${index}.undo`, type: step.undo.type }] : []),
  ])
}

export type FlowProps = Pick<FunctionProps, 'events' | 'bundling'> & {
  /** The file that exports the flow's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several flows. */
  readonly flow?: string
}

/**
 * Registers a flow. Only the types of its steps serve it, so it has no queue and no function. It is registered after all
 * handlers of its system, so that the types of its steps exist first.
 */
export class FlowRegistration extends Construct {
  readonly type: string

  constructor(scope: Construct, id: string, { reach }: Parts, registrar: TypeRegistrar, props: FlowProps) {
    super(scope, id)
    refuseUnknown(props.entry, props, ['entry', 'flow', 'events', 'bundling'])
    const definition = withProps(
      readFlow(props.entry, props.flow, props.bundling),
      defined({ events: props.events }),
    )
    refuseLarge(definition.type, JSON.stringify(definition.config).length)
    this.type = definition.type
    reach.add(this.type, definition.config.steps)
    registrar.registerFlow(this, 'Registration', definition)
  }
}

function refuseLarge(type: string, length: number): void {
  if (length <= CONFIGURATION_CHARACTERS_MAX) return
  throw new BatonError(
    'invalid',
    `the flow '${type}' has ${length} characters as JSON, and at most ${CONFIGURATION_CHARACTERS_MAX} can be deployed; give its steps smaller inputs`,
  )
}

export type WorkerQueueProps = Pick<FunctionProps, 'events' | 'expectedTasksPerSecond' | 'bundling'> & {
  /** The file that exports the task's definition, relative to the working directory. */
  readonly entry: string
  /** The name under which `entry` exports it, when it exports several. */
  readonly task?: string
}

/** What serves a type from a queue of its own. */
export abstract class QueuedType extends Construct {
  abstract readonly type: string
  protected abstract readonly source: SourceQueue

  get queue(): Queue {
    return this.source.queue
  }

  /** The dead-letter queue of the system. All queues share it. */
  get deadLetterQueue(): Queue {
    return this.source.deadLetterQueue
  }

  /** Returns the metric of the messages that wait in the queue. */
  metricBacklog(): Metric {
    return this.queue.metricApproximateNumberOfMessagesVisible()
  }
}

/**
 * The queue and the registration of a type that your own workers serve, wherever they run. A worker
 * deletes a message once it has claimed the task, so a run may take hours.
 */
export class WorkerQueue extends QueuedType {
  readonly type: string
  protected readonly source: SourceQueue

  constructor(scope: Construct, id: string, parts: Parts, registrar: TypeRegistrar, props: WorkerQueueProps) {
    super(scope, id)
    refuseUnknown(props.entry, props, ['entry', 'task', 'events', 'bundling', 'expectedTasksPerSecond'])
    const definition = withProps(readDefinition(props.entry, props.task, props.bundling), props)
    refuseHttp(definition)
    parts.table.expect(props.expectedTasksPerSecond)
    this.type = definition.type
    this.source = new SourceQueue(this, 'Tasks', parts.messages.deadLetters, {
      queueName: queueNameOf(parts.settings.system, this.type),
      visibilityTimeout: Duration.seconds(WORKER_VISIBILITY_S),
    })
    registrar
      .register(this, 'Registration', definition, { servedBy: 'workers' })
      .node.addDependency(this.queue)
  }
}
