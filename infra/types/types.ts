/**
 * The task types that an app adds to its system. `definition.ts` reads a definition from its file; `handlers.ts`
 * serves types with Lambda functions, and a worker queue of this file serves it with workers that run anywhere. A flow needs
 * neither. `refuse-props.ts` says which options are legal. This file registers all of them.
 */

import { relative } from 'node:path'
import { Annotations, CustomResource, Duration, Lazy, Stack } from 'aws-cdk-lib'
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import { Construct, DependencyGroup } from 'constructs'
import type { DerivedBody } from '../../shared/api/publish.ts'
import { WORKER_VISIBILITY_S } from '../../shared/core/bounds.ts'
import { unknownTypeProblem } from '../../shared/core/rules/rules.ts'
import type { TypeKind } from '../../shared/core/states.ts'
import { queueNameOf, type TaskType, type TypeConfiguration } from '../../shared/core/types/task-type.ts'
import { defined, illegal } from '../../shared/core/values/values.ts'
import type { ScheduleFields } from '../../shared/define/define-schedule.ts'
import { readSchedule } from '../../shared/service/requests/publish-requests.ts'
import { systemCode } from '../bundling/bundling.ts'
import { createFunction } from '../functions/functions.ts'
import { type Parts, SourceQueue } from '../queues.ts'
import { PUBLISHER_ACCESS, type TaskTable } from '../task-table.ts'
import type { FoundDefinition, TaskSpec } from './definition.ts'
import { readDefinition, readFlow, refuseHttp, withProps } from './definition.ts'
import type { FunctionProps } from './function-rules.ts'
import { refuseUnknown } from './refuse-props.ts'

const REGISTRAR_TIMEOUT_S = 60
/** CloudFormation waits this long for a registration instead of its usual hour. */
const REGISTRATION_WAIT_S = 300

/**
 * The longest configuration of one type, and the longest schedule, as JSON. An asynchronous event of Lambda has at most 256 KB, and a template has at
 * most 1 MB in all. Source: Lambda and CloudFormation quotas.
 */
const CONFIGURATION_CHARACTERS_MAX = 100_000

/** Registers deployed types, and marks a type when its handler is deleted. It also keeps the schedules in code. */
export class TypeRegistrar extends Construct {
  readonly function: LambdaFunction
  private readonly served = new DependencyGroup()
  /** The registration of each type, which may be added later. */
  private readonly registrations = new Map<string, DependencyGroup>()
  private readonly deployed = new DependencyGroup()
  /** The schedules by their names, as JSON. */
  private readonly schedules = new Map<string, string>()
  private readonly registered = new Map<string, { readonly kind: TypeKind; readonly by: Construct }>()

  private readonly table: TaskTable
  private readonly scheduled = new Construct(this, 'Schedules')

  constructor(scope: Construct, id: string, { settings, table, messages, reach }: Parts) {
    super(scope, id)
    this.table = table
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
    { type, config, schedules = [] }: TaskSpec,
    { servedBy, version }: Server,
  ): CustomResource {
    for (const { name, schedule } of schedules) this.addSchedule(name, schedule)
    const twin = this.registered.get(type)?.by
    if (twin) throw illegal(`'${twin.node.id}' already serves the type '${type}'`)
    this.registered.set(type, { kind: config.kind, by: scope })
    const registration = this.resource(scope, id, 'Type', {
      type,
      configuration: JSON.stringify(config),
      ...defined({ servedBy, version }),
    })
    this.registrationOf(type).add(registration)
    this.deployed.add(registration)
    return registration
  }

  /**
   * Keeps a schedule by deployment: it is set after the types of its task are registered. The logical id of the resource follows from
   * the name alone, so a schedule may move to another file.
   *
   * @throws BatonError `invalid`, naming the schedule and each wrong field, and for two different schedules of one name.
   */
  addSchedule(name: string, schedule: ScheduleFields): void {
    const what = `schedule '${name}'`
    const text = JSON.stringify(schedule)
    const twin = this.schedules.get(name)
    if (twin === text) return
    if (twin !== undefined) throw illegal(`two schedules have the name '${name}'; rename one`)
    const { timing, task } = readSchedule(name, JSON.parse(text), Date.now())
    refuseLarge(`the ${what}`, text.length, 'give its task a smaller input')
    // A system without schedules grants the registrar no changes of heads.
    if (this.schedules.size === 0) this.table.openTo(this.function, PUBLISHER_ACCESS)
    this.schedules.set(name, text)
    const body = Stack.of(this).toJsonString(schedule)
    const resource = this.resource(this.scheduled, name, 'Schedule', { schedule: name, body })
    resource.node.addDependency(...typesOf(task).map(type => this.registrationOf(type)))
    const isKnown = () => this.registered.has(task.type)
    const unknown = () => `${what}: task.type ${unknownTypeProblem(task.type, [...this.registered.keys()])}`
    resource.node.addValidation({ validate: () => (isKnown() ? [] : [unknown()]) })
    if (timing.kind === 'at' && timing.at <= Date.now()) {
      const message = `${what}: at has passed, so there is nothing to schedule; remove it from the code`
      Annotations.of(resource).addWarningV2('baton-tasks:past-schedule', message)
    }
  }

  private registrationOf(type: string): DependencyGroup {
    const found = this.registrations.get(type) ?? new DependencyGroup()
    this.registrations.set(type, found)
    return found
  }

  private resource(
    scope: Construct,
    id: string,
    kind: string,
    properties: Readonly<Record<string, string>>,
  ): CustomResource {
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

function typesOf({ type, onSuccess = [], onError = [] }: DerivedBody): string[] {
  return [type, ...[...onSuccess, ...onError].flatMap(typesOf)]
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
    const { length } = JSON.stringify(definition.config)
    refuseLarge(`the flow '${definition.type}'`, length, 'give its steps smaller inputs')
    this.type = definition.type
    reach.add(this.type, definition.config.steps)
    registrar.registerFlow(this, 'Registration', definition)
  }
}

function refuseLarge(what: string, length: number, help: string): void {
  if (length <= CONFIGURATION_CHARACTERS_MAX) return
  throw illegal(
    `${what} has ${length} characters as JSON, and at most ${CONFIGURATION_CHARACTERS_MAX} can be deployed; ${help}`,
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
