import { Duration, Token } from 'aws-cdk-lib'
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { IMetric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch'
import { ConcreteWidget, Dashboard, GraphWidget, Metric, TextWidget } from 'aws-cdk-lib/aws-cloudwatch'
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { CfnQueue } from 'aws-cdk-lib/aws-sqs'
import type { Construct, IConstruct } from 'constructs'
import { INDEXES } from '../shared/aws/dynamo/keys.ts'
import { EVERY_TYPE } from '../shared/core/bounds.ts'
import type { MetricName } from '../shared/ports/machine.ts'
import { taskMetric } from './alarms.ts'
import { DeadLetterQueue, type Parts, SourceQueue } from './queues.ts'

const WIDTH = 12
const HEIGHT = 6
const PERIOD = Duration.minutes(1)

/** A graph that finds its metrics at synthesis, because the app may add handlers after the dashboard. */
class LazyGraph extends ConcreteWidget {
  private readonly title: string
  private readonly findMetrics: () => IMetric[]

  constructor(title: string, findMetrics: () => IMetric[]) {
    super(WIDTH, HEIGHT)
    this.title = title
    this.findMetrics = findMetrics
  }

  override toJson(): ReturnType<GraphWidget['toJson']> {
    const { title, width, height } = this
    const graph = new GraphWidget({ title, width, height, left: this.findMetrics(), liveData: true })
    if (this.x !== undefined && this.y !== undefined) graph.position(this.x, this.y)
    return graph.toJson()
  }
}

/** Creates the dashboard of a system: outcomes and lateness of its tasks, its queues, functions, table and API. */
export function createDashboard(scope: Construct, id: string, parts: Parts, title: string): Dashboard {
  const { system } = parts.settings
  const outcome = (name: MetricName, statistic?: string) =>
    taskMetric(system, name, EVERY_TYPE).with({
      period: PERIOD,
      ...(statistic && { statistic, label: `${name} ${statistic}` }),
    })
  const graph = (graphTitle: string, findMetrics: () => IMetric[]) => new LazyGraph(graphTitle, findMetrics)
  const queues = () => findAll(scope, one => one instanceof SourceQueue)
  const functions = () => findAll(scope, one => one instanceof LambdaFunction)
  return new Dashboard(scope, id, {
    widgets: [
      [new TextWidget({ markdown: `# ${title}`, width: 2 * WIDTH, height: 1 })],
      [
        graph('Tasks', () => OUTCOMES.map(name => outcome(name))),
        graph('How late runs start, and how long they take (ms)', () => [
          outcome('Lateness', 'p50'),
          outcome('Lateness', 'p99'),
          outcome('RunTime', 'p50'),
          outcome('RunTime', 'p99'),
        ]),
      ],
      [
        graph('Messages that wait', () =>
          queues().map(one => one.queue.metricApproximateNumberOfMessagesVisible(waiting(scope, one))),
        ),
        graph('Age of the oldest message (s)', () =>
          queues().map(one => one.queue.metricApproximateAgeOfOldestMessage(waiting(scope, one))),
        ),
      ],
      [
        graph('Messages that were given up', () =>
          findAll(scope, one => one instanceof DeadLetterQueue).map(one =>
            // The queue is emptied within a minute, so the graph shows what arrives.
            one.queue.metricNumberOfMessagesReceived({ ...labelled(scope, one), statistic: 'Sum' }),
          ),
        ),
        graph('What needs attention, and what was repaired', () => TROUBLE.map(name => outcome(name))),
      ],
      [
        graph('Errors of functions', () => functions().map(fn => fn.metricErrors(labelled(scope, fn)))),
        graph('Duration of functions, p99 (ms)', () =>
          functions().map(fn => fn.metricDuration({ ...labelled(scope, fn), statistic: 'p99' })),
        ),
      ],
      [
        graph('Throttled invocations, and requests to the table', () => [
          ...functions().map(fn => fn.metricThrottles(labelled(scope, fn))),
          ...throttledRequests(parts.table.table.tableName),
        ]),
        graph('Requests to the API that failed', () =>
          findAll(scope, one => one instanceof HttpApi).flatMap(api => [
            api.metricServerError({ period: PERIOD }),
            api.metricClientError({ period: PERIOD }),
          ]),
        ),
      ],
    ],
  })
}

const OUTCOMES: readonly MetricName[] = ['Published', 'Succeeded', 'Failed', 'Retried']
const TROUBLE: readonly MetricName[] = [
  'NeedsAttention',
  'TaskFault',
  'Stuck',
  'LeaseLost',
  'SweeperRepaired',
]

function findAll<Kind extends IConstruct>(
  scope: Construct,
  isOfKind: (one: IConstruct) => one is Kind,
): Kind[] {
  return scope.node.findAll().filter(isOfKind)
}

/** Throttled requests to the table and to each index: a hot index throttles the table's writes. */
function throttledRequests(table: string): IMetric[] {
  return [undefined, ...Object.values(INDEXES)].flatMap(index =>
    ['ReadThrottleEvents', 'WriteThrottleEvents'].map(
      metricName =>
        new Metric({
          namespace: 'AWS/DynamoDB',
          metricName,
          dimensionsMap: { TableName: table, ...(index && { GlobalSecondaryIndexName: index.name }) },
          statistic: 'Sum',
          period: PERIOD,
          label: `${metricName} ${index?.name ?? 'table'}`,
        }),
    ),
  )
}

/** A fixed name stands as text, because a reference into a nested stack takes some 230 bytes of a template of at most 1 MB. */
function waiting(scope: Construct, one: SourceQueue): MetricOptions {
  const { queueName } = one.queue.node.defaultChild as CfnQueue
  const isFixed = queueName !== undefined && !Token.isUnresolved(queueName)
  const dimensions = isFixed && { dimensionsMap: { QueueName: queueName } }
  return { ...labelled(scope, one), ...dimensions, statistic: 'Maximum' }
}

/** Labels a metric with the construct's path in the system, such as `Handlers/Resize`. Generated names say nothing to a reader. */
function labelled(scope: Construct, one: IConstruct) {
  const path = one.node.path.slice(scope.node.path.length + 1)
  return { period: PERIOD, label: path.replace(/\/(Function|Tasks|Queue)$/, '') }
}
