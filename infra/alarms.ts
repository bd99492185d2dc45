/**
 * The metrics and alarms that operators see. This file names the metrics that functions write, and makes each alarm next to the construct
 * that it watches. `infra/settings.ts` says which metrics are kept for single types, and `dashboard.ts` draws a whole system on one page.
 */

import { Duration } from 'aws-cdk-lib'
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { FargateService } from 'aws-cdk-lib/aws-ecs'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ITopic } from 'aws-cdk-lib/aws-sns'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { INDEXES } from '../shared/aws/dynamo/keys.ts'
import { EVERY_TYPE } from '../shared/core/bounds.ts'
import { refuseFields, typeNameRule } from '../shared/core/rules/type-configuration.ts'
import { illegal } from '../shared/core/values/values.ts'
import type { MetricName } from '../shared/ports/machine.ts'
import type { Settings } from './settings.ts'

const ITERATOR_AGE_MS_MAX = 60_000
const ALARM_PERIOD_MINUTES = 5

const PERIOD = Duration.minutes(ALARM_PERIOD_MINUTES)

const STATISTICS: Record<MetricName, string> = {
  Lateness: 'p99',
  RunTime: 'p50',
  ClaimConflict: 'Sum',
  LeaseLost: 'Sum',
  LookLoop: 'Sum',
  UnscheduledMinute: 'Sum',
  SweeperRepaired: 'Sum',
  Stuck: 'Maximum',
  NeedsAttention: 'Sum',
  Published: 'Sum',
  Succeeded: 'Sum',
  Failed: 'Sum',
  Retried: 'Sum',
  TaskFault: 'Sum',
}

/** A metric of the tasks of `type`. `Lateness` and `RunTime` are in milliseconds; the other metrics are counts. */
export function taskMetric(system: string, name: MetricName, type: string): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: 'Baton',
    metricName: name,
    dimensionsMap: { service: system, type },
    statistic: STATISTICS[name],
    period: PERIOD,
  })
}

/**
 * Adds an alarm on messages that arrive in the dead-letter queue. It counts what the sweeper receives there: the queue is empty again
 * within a minute, and SQS counts no message as sent that it has moved itself. When the sweeper does not receive, the alarms on its
 * errors and invocations say so.
 */
export function watchDeadLetters(scope: Construct, settings: Settings, queue: IQueue): void {
  addAlarm(scope, 'DeadLetterAlarm', settings, {
    metric: queue.metricNumberOfMessagesReceived({ period: PERIOD, statistic: 'Sum' }),
    isEssential: true,
    description: 'Messages were given up; baton dead-letters says which and why, and sends them again',
  })
}

/**
 * Adds alarms on errors and throttles of a function. The failures of most functions also show elsewhere: as dead letters, as a
 * late planner, as an answer of the API. `isEssential` is for a function that fails without such a sign.
 */
export function watchFunction(
  scope: Construct,
  settings: Settings,
  fn: LambdaFunction,
  isEssential = false,
): void {
  addAlarm(scope, 'ErrorAlarm', settings, {
    isEssential,
    metric: fn.metricErrors({ period: PERIOD }),
    description: 'A function crashed, timed out or ran out of memory; a failing task is not counted here',
  })
  addAlarm(scope, 'ThrottleAlarm', settings, {
    metric: fn.metricThrottles({ period: PERIOD }),
    description: 'A function was throttled; the concurrency of the account or of the function is used up',
  })
}

/** Each alarm on a metric of all tasks: when it is raised, in words. */
const TASK_ALARMS = {
  /** A flow has stopped half undone, or no type can take an owed callback. An operator must decide. */
  NeedsAttention:
    'An undo has failed for good, or a callback cannot be published; the log of the planner names the task, and its needsAttention says what to do',
  /** A worker could run these tasks, and no worker runs them. */
  Stuck:
    'Tasks have shown no sign of life for 15 minutes, though nothing delays them; the sweeper logs their ids',
  /** A chain of 100,000 looks at a task, or a dispatch that functions have sent on twelve times. */
  LookLoop:
    'A chain of looks was too long, or a dispatch was sent on too often; the log of the waker or of the handler names the task',
} as const satisfies Partial<Record<MetricName, string>>

export function watchTasks(scope: Construct, settings: Settings, name: keyof typeof TASK_ALARMS): void {
  addAlarm(scope, `${name}Alarm`, settings, {
    isEssential: name !== 'LookLoop',
    metric: taskMetric(settings.system, name, EVERY_TYPE),
    description: TASK_ALARMS[name],
  })
}

/** Adds an alarm on a late planner. A planner is late when a batch keeps failing or writes outrun it. Tasks then start late. */
export function watchIteratorAge(scope: Construct, settings: Settings, fn: LambdaFunction): void {
  addAlarm(scope, 'IteratorAgeAlarm', settings, {
    metric: fn.metric('IteratorAge', { period: Duration.minutes(1), statistic: 'Maximum' }),
    above: ITERATOR_AGE_MS_MAX,
    isEssential: true,
    description: 'Changes of tasks are read more than a minute late',
  })
}

/** Adds an alarm on a sweeper that is not invoked. A function that is not invoked reports nothing. */
export function watchInvocations(scope: Construct, settings: Settings, fn: LambdaFunction): void {
  addAlarm(scope, 'NotInvokedAlarm', settings, {
    metric: fn.metricInvocations({ period: PERIOD }),
    below: 1,
    isEssential: true,
    description: 'The sweeper was not invoked; lost messages are not repaired',
  })
}

/** Adds an alarm on too few containers. A service without containers reports nothing. */
export function watchWorkers(
  scope: Construct,
  settings: Settings,
  service: FargateService,
  least: number,
): void {
  addAlarm(scope, 'TooFewAlarm', settings, {
    metric: new cloudwatch.Metric({
      namespace: 'ECS/ContainerInsights',
      metricName: 'RunningTaskCount',
      dimensionsMap: { ClusterName: service.cluster.clusterName, ServiceName: service.serviceName },
      statistic: 'Maximum',
      period: PERIOD,
    }),
    below: least,
    isEssential: true,
    description: 'Fewer worker containers run than the service must have; see its events and its log group',
  })
}

export function watchServerErrors(scope: Construct, settings: Settings, api: HttpApi): void {
  addAlarm(scope, 'ServerErrorAlarm', settings, {
    metric: api.metricServerError({ period: PERIOD, statistic: 'Sum' }),
    isEssential: true,
    description: 'The HTTP API answered with a status of 500 or more',
  })
}

/**
 * Adds an essential alarm on throttled updates. Claims and ends of runs are updates, and a hot index throttles them, too. One metric
 * counts them whatever throttles them. With all alarms there is also one for the table and one for each index, which say where.
 */
export function watchThrottling(scope: Construct, settings: Settings, table: TableV2): void {
  addAlarm(scope, 'UpdateThrottleAlarm', settings, {
    metric: table.metric('ThrottledRequests', {
      dimensionsMap: { TableName: table.tableName, Operation: 'UpdateItem' },
      statistic: 'Sum',
      period: PERIOD,
    }),
    isEssential: true,
    description:
      'Updates of tasks are throttled: a type has more tasks than its shards or the table serve; see docs/scale.md',
  })
  for (const index of [undefined, ...Object.values(INDEXES).map(({ name }) => name)]) {
    addAlarm(scope, `${index ?? 'table'}-throttle-alarm`, settings, {
      metric: throttledEvents(table, index),
      description: `Requests to ${index ? `the index ${index}` : 'the table'} are throttled; look for a hot key`,
    })
  }
}

function throttledEvents(table: TableV2, index: string | undefined): cloudwatch.IMetric {
  const dimensionsMap = { TableName: table.tableName, ...(index && { GlobalSecondaryIndexName: index }) }
  const events = (metricName: string) =>
    new cloudwatch.Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap,
      statistic: 'Sum',
      period: PERIOD,
    })
  return new cloudwatch.MathExpression({
    expression: 'FILL(reads, 0) + FILL(writes, 0)',
    usingMetrics: { reads: events('ReadThrottleEvents'), writes: events('WriteThrottleEvents') },
    period: PERIOD,
  })
}

/** The condition of an alarm on failed tasks. */
export type FailureAlarmProps = {
  /** Counts failures of this type only; its metric costs $0.30 a month. @default all types together */
  readonly type?: string
  /** The number of failed tasks that raises the alarm. */
  readonly failures: number
  /** The minutes in which the failures are counted, 1–1,440. */
  readonly perMinutes: number
  /** The topic that is notified. */
  readonly topic: ITopic
}

/** Adds an alarm on tasks that have failed for good. Retries do not count. The level `alarms` of the system does not matter. */
export function watchFailures(
  scope: Construct,
  settings: Settings,
  props: FailureAlarmProps,
): cloudwatch.Alarm {
  const { type = EVERY_TYPE, failures, perMinutes, topic } = props
  refuseUnlessWhole('failures', failures, FAILURES_MAX)
  refuseUnlessWhole('perMinutes', perMinutes, MINUTES_PER_DAY)
  if (type !== EVERY_TYPE) refuseFields('alarmOnFailures', typeNameRule.problems(type, 'type'))
  settings.typeMetrics.ask('Failed', type)
  const name = type === EVERY_TYPE ? 'All' : type
  const alarm = new cloudwatch.Alarm(scope, `FailureAlarm-${name}-${failures}-${perMinutes}`, {
    metric: taskMetric(settings.system, 'Failed', type).with({ period: Duration.minutes(perMinutes) }),
    alarmDescription: `At least ${failures} failed tasks${type === EVERY_TYPE ? '' : ` of type ${type}`} within ${perMinutes} minutes`,
    threshold: failures,
    evaluationPeriods: 1,
    comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
  })
  alarm.addAlarmAction(new SnsAction(topic))
  return alarm
}

/** The longest period of an alarm is a day. Source: CloudWatch, PutMetricAlarm. */
const MINUTES_PER_DAY = 1_440
const FAILURES_MAX = 1_000_000_000

function refuseUnlessWhole(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return
  throw illegal(`${name} is ${value}; give a whole number of 1–${most.toLocaleString('en')}`)
}

type Condition = {
  readonly metric: cloudwatch.IMetric
  readonly description: string
  /** Alarm above this value. @default 0 */
  readonly above?: number
  /**
   * Alarm below this value. Without a value the state becomes INSUFFICIENT_DATA, which is notified, too. A new alarm begins in that
   * state, and CloudWatch notifies changes only. As an alarm on missing data it would go off at each first deployment.
   */
  readonly below?: number
  /** Whether the level `essential` includes the alarm. @default false */
  readonly isEssential?: boolean
}

function addAlarm(
  scope: Construct,
  id: string,
  { alarmTopic, alarms }: Settings,
  condition: Condition,
): void {
  const { metric, description, above = 0, below, isEssential = false } = condition
  if (alarms === 'none' || (alarms === 'essential' && !isEssential)) return
  const alarm = new cloudwatch.Alarm(scope, id, {
    metric,
    alarmDescription: description,
    threshold: below ?? above,
    evaluationPeriods: 1,
    comparisonOperator:
      below === undefined
        ? cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
        : cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    treatMissingData:
      below === undefined ? cloudwatch.TreatMissingData.NOT_BREACHING : cloudwatch.TreatMissingData.MISSING,
  })
  if (!alarmTopic) return
  alarm.addAlarmAction(new SnsAction(alarmTopic))
  if (below !== undefined) alarm.addInsufficientDataAction(new SnsAction(alarmTopic))
}
