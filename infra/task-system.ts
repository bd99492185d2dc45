import { CfnOutput } from 'aws-cdk-lib'
import type { Alarm, Dashboard, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { EventBus } from 'aws-cdk-lib/aws-events'
import type { IRole } from 'aws-cdk-lib/aws-iam'
import { Construct } from 'constructs'
import type { ScheduleDefinition, ScheduleFields } from '../shared/define/define-schedule.ts'
import type { MetricName } from '../shared/ports/machine.ts'
import { type FailureAlarmProps, taskMetric, watchFailures } from './alarms.ts'
import { createDashboard } from './dashboard.ts'
import { TaskApi } from './functions/api.ts'
import { Jobs, Planner, Sweeper, Waker } from './functions/machinery.ts'
import { operatingRoutes, publishingRoutes, READING_ROUTES } from './permissions/api-access.ts'
import { type Grantee, granteeUnder, RolePolicies } from './permissions/permissions.ts'
import {
  type GrantProps,
  grantedTypes,
  grantTableToPublisher,
  grantTableToWorker,
  TypeReach,
} from './permissions/table-access.ts'
import { Placement } from './placement.ts'
import { FarTimers, Messages, type Parts, SystemEvents } from './queues.ts'
import { settingsOf } from './settings.ts'
import { refuseSameName, stackProblems } from './stack-checks.ts'
import { refuseSystemProps, type TaskSystemProps } from './system-props.ts'
import { TaskTable } from './task-table.ts'
import type { HandlerProps, HandlersProps } from './types/handlers.ts'
import { HandlerFunction, HandlerGroup, readGroup, WebhookHandler } from './types/handlers.ts'
import type { FlowProps, WorkerQueueProps } from './types/types.ts'
import { FlowRegistration, TypeRegistrar, WorkerQueue } from './types/types.ts'
import { WorkerService, type WorkerServiceProps } from './workers/workers.ts'

/** A task system: table, planner, waker, jobs, sweeper and HTTP API, to which handlers are added. */
export class TaskSystem extends Construct {
  /** The prefix of the queues' names. */
  readonly systemName: string
  readonly apiUrl: string
  readonly api: TaskApi
  /** The bus for events of tasks of types with `events: true`. Add rules to it. */
  readonly eventBus: EventBus
  private readonly parts: Parts
  private readonly registrar: TypeRegistrar
  private readonly handlers: Construct
  private readonly placement: Placement

  constructor(scope: Construct, id: string, props: TaskSystemProps = {}) {
    super(scope, id)
    refuseSystemProps(this.node.path, props)
    const settings = settingsOf(this, props)
    this.systemName = settings.system
    refuseSameName(this, one => one instanceof TaskSystem)
    const table = new TaskTable(this, 'Table', settings, props)
    const messages = new Messages(this, 'Messages', settings)
    const timers = new FarTimers(this, 'FarTimers', messages)
    const events = new SystemEvents(this, 'Events', settings)
    this.eventBus = events.bus
    const policies = new RolePolicies(this, 'Policies')
    this.parts = { settings, table, messages, timers, events, policies, reach: new TypeReach() }
    const reserved = props.reservedConcurrency ?? {}
    new Planner(this, 'Planner', this.parts, props.planner ?? {}, reserved.planner)
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
    this.placement = new Placement(this, 'Nested', this.handlers, settings.alarms)
    if (props.webhook ?? true) new WebhookHandler(this.handlers, 'Webhook', this.parts, this.registrar)
    this.output('ApiUrl', this.apiUrl, props.systemName)
    this.output('TableName', table.table.tableName, props.systemName)
    this.output('EventBusName', this.eventBus.eventBusName, props.systemName)
    // A worker that runs elsewhere needs these outputs and the table's name.
    this.output('SystemName', this.systemName, props.systemName)
    this.output('WakeQueueUrl', messages.wake.queue.queueUrl, props.systemName)
    this.output('JobsQueueUrl', messages.jobs.queue.queueUrl, props.systemName)
    this.node.addValidation({
      validate: () => stackProblems(this, this.handlers, this.placement.nestedStacks(), settings.alarms),
    })
  }

  /**
   * Deploys the handler of the task that `props.entry` defines: function, queue, mapping, and
   * the registration of its type. From the 31st on (with `alarms: 'all'` from the 25th on) a handler is put into a nested stack,
   * and `cdk.context.json`, which you commit, records the place of each.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that has a handler already.
   */
  addHandler(id: string, props: HandlerProps): HandlerFunction {
    return this.placement.add(
      id,
      1,
      scope => new HandlerFunction(scope, id, this.parts, this.registrar, props),
    )
  }

  /**
   * Deploys one function for all tasks that the files of `props.entries` define: a queue, a mapping and the
   * registration per type. The types share role, memory and code, which saves four resources per type. Its place is found
   * like the function of a handler, and it counts as the resources that it takes.
   *
   * @throws BatonError `invalid` when no file matches, when a file defines no task, or when one is served already.
   */
  addHandlers(id: string, props: HandlersProps): HandlerGroup {
    const read = readGroup(props)
    return this.placement.add(
      id,
      read.definitions.length,
      scope => new HandlerGroup(scope, id, this.parts, this.registrar, read),
    )
  }

  /**
   * Deploys what your own workers need to serve the task that `props.entry` defines: its queue, and
   * the registration of its type.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that is served already.
   */
  addWorkerQueue(id: string, props: WorkerQueueProps): WorkerQueue {
    return new WorkerQueue(this.handlers, id, this.parts, this.registrar, props)
  }

  /**
   * Deploys workers on Fargate for all tasks that `props.entry` defines: a queue and the
   * registration per type, and one service that scales by the waiting tasks.
   *
   * @throws BatonError `invalid` when the entry defines no task, or one that is served already.
   */
  addWorkerService(id: string, props: WorkerServiceProps): WorkerService {
    return new WorkerService(this.handlers, id, this.parts, this.registrar, props)
  }

  /**
   * Registers the flow that `props.entry` defines. A flow needs no queue and no function: the types of its steps serve it, each
   * with a handler, by workers, or over HTTP.
   *
   * @throws BatonError `invalid` when the entry defines no flow, or one whose type exists already.
   */
  addFlow(id: string, props: FlowProps): FlowRegistration {
    return new FlowRegistration(this.handlers, id, this.parts, this.registrar, props)
  }

  /**
   * Keeps a schedule by deployment: the deployment creates it, changes it, and removes it when it is gone from the code. `schedule` is
   * its fields, and `id` is its name then, or what `defineSchedule` returns. Schedules that the files of handlers, workers and flows
   * export are found without this call.
   *
   * @throws BatonError `invalid`, naming the schedule and each wrong field, and for two different schedules of one name.
   */
  addSchedule(id: string, schedule: ScheduleFields | ScheduleDefinition): void {
    const { name, schedule: fields } = 'kind' in schedule ? schedule : { name: id, schedule }
    this.registrar.addSchedule(name, fields)
  }

  /**
   * Grants `fn` to publish tasks and to wait for their results. It may use the HTTP API at `BATON_URL`, or the table itself by
   * `createTableClient` of `baton-tasks/aws`, which reads `BATON_TABLE`. With `types` it may publish in the table only, and only
   * tasks of these types: over HTTP the body names the type, and IAM does not see the body. All tasks of these types, of any publisher,
   * then may have callbacks and steps of these types only: see "What a head may name" in docs/permissions.md.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantPublish(fn: Grantee, { types }: GrantProps = {}): void {
    const named = grantedTypes(types)
    grantTableToPublisher(fn, this.parts, named)
    this.addressTo(fn)
    this.api.openTo(fn, publishingRoutes(named))
  }

  /** Grants `fn` every read of the HTTP API at `BATON_URL`, and no change. */
  grantRead(fn: Grantee): void {
    this.api.openTo(fn, READING_ROUTES)
  }

  /**
   * Grants `fn` to operate over the HTTP API at `BATON_URL`. It may read, retry, cancel, change and remove tasks; pause, resume
   * and purge types; cancel canvases; pause, resume and trigger schedules; and send dead letters again. With `types` it may operate on
   * tasks of these types and on the types themselves. It may not list tasks then: the query names the type, and IAM does not see the query.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantOperate(fn: Grantee, { types }: GrantProps = {}): void {
    this.api.openTo(fn, operatingRoutes(grantedTypes(types)))
  }

  /**
   * Grants workers under `role` to serve these types from their queues, and nothing else. Flows that the app adds need
   * not be named. Also name other flows whose steps these types do, and types whose results a canvas hands on to these types.
   * Callbacks and steps of these types are then bound to these types: see "What a head may name" in docs/permissions.md.
   * Returns the environment that `createWorker` reads; the stack's outputs have the same values.
   *
   * @throws BatonError `invalid` when `types` is empty or names no type.
   */
  grantServe(role: IRole, { types }: Required<GrantProps>): Readonly<Record<string, string>> {
    const named = grantedTypes(types)
    const { grantee, environment } = granteeUnder(role)
    grantTableToWorker(grantee, this.parts, { types: named, others: [], isRegistered: true })
    this.parts.policies.add(grantee, () => this.parts.messages.servingOf(types))
    this.addressTo(grantee)
    return environment
  }

  /** Returns the metric of how late tasks of `type` start, in milliseconds. */
  metricLateness(type: string): Metric {
    return this.metric('Lateness', type)
  }

  /** Returns the metric of the runs of `type` that were lost because their lease ended. */
  metricLeaseLost(type: string): Metric {
    return this.metric('LeaseLost', type)
  }

  /**
   * Adds an alarm that notifies `topic` when `failures` tasks fail for good within `perMinutes` minutes. The alarm costs $0.10 a
   * month. With a `type`, its metric costs another $0.30.
   *
   * @throws BatonError `invalid` for illegal numbers or an illegal type name.
   */
  alarmOnFailures(props: FailureAlarmProps): Alarm {
    return watchFailures(this, this.parts.settings, props)
  }

  /**
   * Adds a CloudWatch dashboard of the whole system, including handlers that are added later. It costs $3 a month; the first
   * three of an account are free while each has at most 50 metrics.
   */
  addDashboard(id = 'Dashboard'): Dashboard {
    return createDashboard(this, id, this.parts, this.systemName)
  }

  /** Returns the metric of one type, or of all types together for `*`. The metric of one type is then kept, at $0.30 a month. */
  metric(name: MetricName, type: string): Metric {
    this.parts.settings.typeMetrics.ask(name, type)
    return taskMetric(this.systemName, name, type)
  }

  /** Sets the variables by which `grantee` finds the system. */
  private addressTo(grantee: Grantee): void {
    this.parts.table.nameTo(grantee)
    this.parts.messages.openTo(grantee, {})
    grantee.addEnvironment('BATON_SYSTEM', this.systemName)
  }

  /** Adds an output. Outputs have plain names for the command line. The outputs of a system with a `systemName` begin with that name. */
  private output(name: string, value: string, systemName: string | undefined): void {
    new CfnOutput(this, name, { value }).overrideLogicalId(`${systemName?.replaceAll('-', '') ?? ''}${name}`)
  }
}
