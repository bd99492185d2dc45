import { Token } from 'aws-cdk-lib'
import { CfnScalableTarget, CfnScalingPolicy } from 'aws-cdk-lib/aws-applicationautoscaling'
import type { FargateService } from 'aws-cdk-lib/aws-ecs'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { illegal } from '../../shared/core/values/values.ts'

/** A metric expression reads at most 10 metrics, and one of them counts the running containers. Source: CloudWatch quotas. */
const SCALED_QUEUES_MAX = 9
/** A container starts within a minute. An earlier second decision would count the same backlog twice. */
const SCALE_OUT_COOLDOWN_S = 60
const SCALE_IN_COOLDOWN_S = 300

type ScalingSpec = {
  readonly minTasks: number
  readonly maxTasks: number
  /** The visible messages per container above which another container is started. */
  readonly backlogPerTask: number
}

/**
 * Keeps the visible messages per running container near `backlogPerTask`. There is no scale-in protection: a container would have
 * to request it around every run. A container that is stopped drains and releases its remaining runs without a penalty.
 */
export function scaleByBacklog(
  scope: Construct,
  service: FargateService,
  queues: readonly IQueue[],
  { minTasks, maxTasks, backlogPerTask }: ScalingSpec,
): void {
  refuseImpossible(minTasks, maxTasks, queues)
  const target = new CfnScalableTarget(scope, 'Target', {
    serviceNamespace: 'ecs',
    scalableDimension: 'ecs:service:DesiredCount',
    resourceId: `service/${service.cluster.clusterName}/${service.serviceName}`,
    minCapacity: minTasks,
    maxCapacity: maxTasks,
  })
  new CfnScalingPolicy(scope, 'Backlog', {
    policyName: 'backlog-per-container',
    policyType: 'TargetTrackingScaling',
    scalingTargetId: target.ref,
    targetTrackingScalingPolicyConfiguration: {
      targetValue: backlogPerTask,
      scaleOutCooldown: SCALE_OUT_COOLDOWN_S,
      scaleInCooldown: SCALE_IN_COOLDOWN_S,
      customizedMetricSpecification: { metrics: backlogPerContainer(service, queues) },
    },
  })
}

/** `minTasks` is at least 1, because target tracking multiplies the present count and so never leaves zero. */
function refuseImpossible(minTasks: number, maxTasks: number, queues: readonly IQueue[]): void {
  const isRange =
    Number.isInteger(minTasks) && Number.isInteger(maxTasks) && 1 <= minTasks && minTasks <= maxTasks
  if (!Token.isUnresolved(minTasks) && !Token.isUnresolved(maxTasks) && !isRange) {
    throw illegal(`minTasks ${minTasks} to maxTasks ${maxTasks} is not a range; minTasks must be 1 or more`)
  }
  if (queues.length > SCALED_QUEUES_MAX) {
    throw illegal(
      `one service can scale on at most ${SCALED_QUEUES_MAX} types, but ${queues.length} were given; use several services`,
    )
  }
}

type MetricQuery = CfnScalingPolicy.TargetTrackingMetricDataQueryProperty

/**
 * Returns the metrics of the expression. SQS stops reporting a queue that is idle for some hours, and ECS reports nothing before
 * the first container runs. A missing value counts as 0, and no container counts as one.
 */
function backlogPerContainer(service: FargateService, queues: readonly IQueue[]): MetricQuery[] {
  const waiting = queues.map((_queue, index) => `FILL(waiting${index}, 0)`).join(' + ')
  return [
    ...queues.map(({ queueName }, index) =>
      metric(`waiting${index}`, 'AWS/SQS', 'ApproximateNumberOfMessagesVisible', 'Maximum', {
        QueueName: queueName,
      }),
    ),
    metric('running', 'ECS/ContainerInsights', 'RunningTaskCount', 'Average', {
      ClusterName: service.cluster.clusterName,
      ServiceName: service.serviceName,
    }),
    {
      id: 'backlog',
      label: 'Messages per container',
      expression: `(${waiting}) / IF(FILL(running, 0) > 0, running, 1)`,
      returnData: true,
    },
  ]
}

function metric(
  id: string,
  namespace: string,
  metricName: string,
  stat: string,
  dimensions: Readonly<Record<string, string>>,
): MetricQuery {
  return {
    id,
    metricStat: {
      metric: {
        namespace,
        metricName,
        dimensions: Object.entries(dimensions).map(([name, value]) => ({ name, value })),
      },
      stat,
    },
    returnData: false,
  }
}
