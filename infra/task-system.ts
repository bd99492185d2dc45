import { ArnFormat, CfnOutput, Stack } from 'aws-cdk-lib'
import type { Alarm, Dashboard, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import type { IRole } from 'aws-cdk-lib/aws-iam'
import { Construct, type IConstruct } from 'constructs'
import { BatonError } from '../shared/core/errors.ts'
import type { MetricName } from '../shared/ports/machine.ts'
import { type ApiAuth, type ApiProps, TaskApi } from './api/api.ts'
import { SystemEvents } from './event-bus.ts'
import { functionFile } from './functions/function-file.ts'
import { Jobs } from './functions/jobs.ts'
import { Planner } from './functions/planner.ts'
import { Sweeper } from './functions/sweeper.ts'
import { Waker } from './functions/waker.ts'
import { type FailureAlarmProps, watchFailures } from './monitoring/alarms.ts'
import { createDashboard } from './monitoring/dashboard.ts'
import { taskMetric } from './monitoring/monitoring.ts'
import type { Parts } from './parts.ts'
import { operatingRoutes, publishingRoutes, readingRoutes } from './permissions/api-access.ts'
import { allow, type Grantee, granteeUnder } from './permissions/permissions.ts'
import { grantTableToPublisher, grantTableToWorker } from './permissions/table-access.ts'
import { type GrantProps, grantedTypes, TypeReach } from './permissions/type-reach.ts'
import { FarTimers } from './queues/far-timers.ts'
import { Messages } from './queues/queues.ts'
import { type SettingsProps, settingsOf } from './settings.ts'
import { collidingNames, mayShareEnvironment, tooManyResources } from './stack-checks.ts'
import { type TableLimits, TaskTable, type WarmThroughput } from './task-table.ts'
import { type FlowProps, FlowRegistration } from './types/flow-registration.ts'
import { HandlerFunction, type HandlerProps } from './types/handler-function.ts'
import { TypeRegistrar } from './types/types.ts'
import { WorkerQueue, type WorkerQueueProps } from './types/worker-queue.ts'
import { WorkerService, type WorkerServiceProps } from './workers/workers.ts'

/**
 * Invocations kept apart for a function, at most so many of it at a time. They count against the account's concurrency at once, and
 * Lambda keeps 100 of that unreserved: an account whose limit is 10, as new ones have, can reserve none.
 */
export type ReservedConcurrency = {
  readonly api?: number
  readonly claims?: number
  readonly planner?: number
  readonly waker?: number
  readonly jobs?: number
  readonly sweeper?: number
}

export type TaskSystemProps = SettingsProps & {
  /** Who may call the HTTP API. @default 'iam' */
  readonly apiAuth?: ApiAuth
  /** The rest of how the HTTP API is served. */
  readonly api?: ApiProps
  /** Concurrency that handlers cannot take away. @default none, since an account may have none to give */
  readonly reservedConcurrency?: ReservedConcurrency
  /** A fuse against runaway cost. @default none */
  readonly tableLimits?: TableLimits
  /** For a load that comes at once; DynamoDB charges for it once. @default what a new table has */
  readonly warmThroughput?: WarmThroughput
  /** Whether the shipped type `webhook` is deployed, which serves all types of kind `webhook`. @default true */
  readonly webhook?: boolean
}

/** A task system: table, planner, waker, jobs, sweeper and HTTP API, to which handlers are added. */
export class TaskSystem extends Construct {
  /** Prefix of the names of its queues. */
  readonly systemName: string
  readonly apiUrl: string
  readonly api: TaskApi
  /** Where it tells what happens to tasks of types with `events: true`; add rules to it. */
  readonly eventBus: EventBus
  private readonly parts: Parts
  private readonly registrar: TypeRegistrar
  private readonly handlers: Construct

  constructor(scope: Construct, id: string, props: TaskSystemProps = {}) {
    super(scope, id)
    const settings = settingsOf(this, props)
    this.systemName = settings.system
    this.refuseTwin()
    const table = new TaskTable(this, 'Table', settings, {
      ...(props.tableLimits && { limits: props.tableLimits }),
      ...(props.warmThroughput && { warmThroughput: props.warmThroughput }),
    })
    const messages = new Messages(this, 'Messages', settings)
    const timers = new FarTimers(this, 'FarTimers', settings, messages.wake.queue)
    const events = new SystemEvents(this, 'Events', settings)
    this.eventBus = events.bus
    this.parts = { settings, table, messages, timers, events, reach: new TypeReach() }
    const reserved = props.reservedConcurrency ?? {}
    new Planner(this, 'Planner', this.parts, reserved.planner)
    new Waker(this, 'Waker', this.parts, reserved.waker)
    new Jobs(this, 'Jobs', this.parts, reserved.jobs)
    new Sweeper(this, 'Sweeper', this.parts, reserved.sweeper)
    this.api = new TaskApi(this, 'Api', this.parts, {
      ...props.api,
      auth: props.apiAuth ?? 'iam',
      reservedConcurrency: reserved,
    })
    this.apiUrl = this.api.url
    this.registrar = new TypeRegistrar(this, 'Registrar', this.parts)
    this.handlers = new Construct(this, 'Handlers')
    if (props.webhook ?? true) this.addWebhook()
    this.output('ApiUrl', this.apiUrl, props.systemName)
    this.output('TableName', table.table.tableName, props.systemName)
    this.output('EventBusName', this.eventBus.eventBusName, props.systemName)
    // What workers of one's own are configured with, beside the table's name.
    this.output('SystemName', this.systemName, props.systemName)
    this.output('WakeQueueUrl', messages.wake.queue.queueUrl, props.systemName)
    this.output('JobsQueueUrl', messages.jobs.queue.queueUrl, props.systemName)
    this.node.addValidation({
      validate: () => [...collidingNames(this), ...tooManyResources(this, this.handlers)],
    })
  }

  /**
   * Deploys the handler of the task that `props.entry` defines: function, queue with dead-letter queue, mapping, and
   * the registration of its type.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that has a handler already.
   */
  addHandler(id: string, props: HandlerProps): HandlerFunction {
    const handler = new HandlerFunction(this.handlers, id, this.parts, this.registrar, props)
    this.refuseTwice(handler)
    return handler
  }

  /**
   * Deploys what workers that you run yourself need to serve the task that `props.entry` defines: its queue with
   * dead-letter queue, and the registration of its type.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that is served already.
   */
  addWorkerQueue(id: string, props: WorkerQueueProps): WorkerQueue {
    const queue = new WorkerQueue(this.handlers, id, this.parts, this.registrar, props)
    this.refuseTwice(queue)
    return queue
  }

  /**
   * Deploys workers on Fargate for all tasks that `props.entry` defines: a queue with dead-letter queue and the
   * registration per type, and one service that scales by what waits.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that is served already.
   */
  addWorkerService(id: string, props: WorkerServiceProps): WorkerService {
    const service = new WorkerService(this.handlers, id, this.parts, this.registrar, props)
    for (const one of [...service.queues, ...service.flows]) this.refuseTwice(one)
    return service
  }

  /**
   * Makes the flow that `props.entry` defines known. It needs no queue and no function: the types of its steps serve it,
   * each with a handler, workers or over HTTP.
   *
   * @throws BatonError `invalid` when the entry defines no flow, or one whose type is there already.
   */
  addFlow(id: string, props: FlowProps): FlowRegistration {
    const flow = new FlowRegistration(this.handlers, id, this.parts, this.registrar, props)
    this.refuseTwice(flow)
    return flow
  }

  /**
   * Lets `fn` publish tasks and wait for their results: over the HTTP API, whose URL it finds in `BATON_URL`, and in the table
   * itself, for which it has `BATON_TABLE`, `BATON_SYSTEM` and `BATON_WAKE_QUEUE_URL`. With `types` it publishes in the table only,
   * and tasks of these types only: over HTTP the type stands in a body, which IAM does not see.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantPublish(fn: Grantee, { types }: GrantProps = {}): void {
    const named = grantedTypes(types)
    grantTableToPublisher(fn, this.parts, named)
    this.addressTo(fn)
    this.api.openTo(fn, publishingRoutes(named))
  }

  /** Lets `fn` read whatever the HTTP API shows, at `BATON_URL`, and change nothing. */
  grantRead(fn: Grantee): void {
    this.api.openTo(fn, readingRoutes())
  }

  /**
   * Lets `fn` read, retry, cancel, change and remove tasks, and pause, resume and purge types, over the HTTP API at `BATON_URL`;
   * cancel canvases, and pause, resume and trigger schedules. With `types` only tasks of these types and the types themselves:
   * no lists, since what they list stands in the query, which IAM does not see.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantOperate(fn: Grantee, { types }: GrantProps = {}): void {
    this.api.openTo(fn, operatingRoutes(grantedTypes(types)))
  }

  /**
   * Lets workers that run under `role` serve these types from their queues, and nothing of others. Flows that the app adds and
   * whose steps they do are known; other flows, and types whose results a canvas hands on to them, must be named as well.
   * Answers the environment that `createWorker` reads; a stack's outputs have the same values.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantServe(role: IRole, { types }: Required<GrantProps>): Readonly<Record<string, string>> {
    const named = grantedTypes(types)
    const { runner, environment } = granteeUnder(role)
    grantTableToWorker(runner, this.parts, { types: named, others: [], isRegistered: true })
    this.parts.messages.openQueuesTo(runner, types)
    this.addressTo(runner)
    return environment
  }

  /** How late tasks of `type` start, in milliseconds. */
  metricLateness(type: string): Metric {
    return this.metric('Lateness', type)
  }

  /** Runs of `type` that were taken over because their lease ended. */
  metricLeaseLost(type: string): Metric {
    return this.metric('LeaseLost', type)
  }

  /**
   * Raises an alarm when so many tasks fail for good within so many minutes, and notifies `topic`. The alarm costs $0.10 a month, and
   * with a `type` the metric of that type $0.30.
   *
   * @throws BatonError `invalid` for numbers or a type that cannot be.
   */
  alarmOnFailures(props: FailureAlarmProps): Alarm {
    return watchFailures(this, this.parts.settings, props)
  }

  /**
   * A CloudWatch dashboard of the whole system, with all its handlers, also those that are added later. CloudWatch takes $3 a month;
   * the first three of an account are free while each has at most 50 metrics.
   */
  addDashboard(id = 'Dashboard'): Dashboard {
    return createDashboard(this, id, this.parts, this.systemName)
  }

  /** A metric of one type is kept, at $0.30 a month, once it is asked for; `*` stands for all types together. */
  metric(name: MetricName, type: string): Metric {
    this.parts.settings.typeMetrics.ask(name, type)
    return taskMetric(this.systemName, name, type)
  }

  /** Tells `runner` where the system is. */
  private addressTo(runner: Grantee): void {
    this.parts.table.nameTo(runner)
    this.parts.messages.openTo(runner, {})
    runner.addEnvironment('BATON_SYSTEM', this.systemName)
  }

  private refuseTwice(added: HandlerFunction | WorkerQueue | FlowRegistration): void {
    const twin = this.handlers.node
      .findAll()
      .filter(isOfType)
      .find(other => other !== added && other.type === added.type)
    if (twin) throw new BatonError('invalid', `'${twin.node.id}' already serves the type '${added.type}'`)
  }

  /** Its handler may read the secrets that sign the calls: those named `<system>/webhook/…`. */
  private addWebhook(): void {
    const { function: fn } = this.addHandler('Webhook', { entry: functionFile('tasks/webhook.ts') })
    const secrets = Stack.of(this).formatArn({
      service: 'secretsmanager',
      resource: 'secret',
      resourceName: `${this.systemName}/webhook/*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    })
    allow(fn, { actions: ['secretsmanager:GetSecretValue'], resources: [secrets] })
  }

  /** Outputs have plain names for the command line; a second system in a stack, which must be named, puts its name before. */
  private output(name: string, value: string, systemName: string | undefined): void {
    new CfnOutput(this, name, { value }).overrideLogicalId(`${systemName?.replaceAll('-', '') ?? ''}${name}`)
  }

  /** Two systems of one name would share queues, whichever stacks of the app they stand in. */
  private refuseTwin(): void {
    const isTwin = (other: IConstruct) =>
      other instanceof TaskSystem &&
      other !== this &&
      other.systemName === this.systemName &&
      mayShareEnvironment(other, this)
    const twin = this.node.root.node.findAll().find(isTwin)
    if (twin) {
      throw new BatonError(
        'invalid',
        `${twin.node.path} is already named '${this.systemName}', and both may be deployed to one account and region; ` +
          "give one of them another 'systemName', or give their stacks different environments",
      )
    }
  }
}

function isOfType(one: IConstruct): one is HandlerFunction | WorkerQueue | FlowRegistration {
  return [HandlerFunction, WorkerQueue, FlowRegistration].some(kind => one instanceof kind)
}
