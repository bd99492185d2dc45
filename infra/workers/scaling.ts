import { Token } from 'aws-cdk-lib'
import { CfnScalableTarget, CfnScalingPolicy } from 'aws-cdk-lib/aws-applicationautoscaling'
import type { FargateService } from 'aws-cdk-lib/aws-ecs'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { BatonError } from '../../shared/core/errors.ts'
import { SCALE_IN_COOLDOWN_S, SCALE_OUT_COOLDOWN_S, SCALED_QUEUES_MAX } from '../bounds.ts'

export type ScalingSpec = {
  readonly minTasks: number
  readonly maxTasks: number
  /** Visible messages that one container may have waiting before another is started. */
  readonly backlogPerTask: number
}

/**
 * Keeps the visible messages per running container near `backlogPerTask`. Scale-in protection is left out: a container
 * would have to ask for it around every run, and one that is stopped drains, then gives its runs back at no cost of a
 * retry.
 */
export class WorkerScaling extends Construct {
  constructor(
    scope: Construct,
    id: string,
    service: FargateService,
    queues: readonly IQueue[],
    { minTasks, maxTasks, backlogPerTask }: ScalingSpec,
  ) {
    super(scope, id)
    refuseImpossible(minTasks, maxTasks, queues)
    const target = new CfnScalableTarget(this, 'Target', {
      serviceNamespace: 'ecs',
      scalableDimension: 'ecs:service:DesiredCount',
      resourceId: `service/${service.cluster.clusterName}/${service.serviceName}`,
      minCapacity: minTasks,
      maxCapacity: maxTasks,
    })
    new CfnScalingPolicy(this, 'Backlog', {
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
}

/** Target tracking multiplies the present count, so it can never leave zero. */
function refuseImpossible(minTasks: number, maxTasks: number, queues: readonly IQueue[]): void {
  const isRange =
    Number.isInteger(minTasks) && Number.isInteger(maxTasks) && 1 <= minTasks && minTasks <= maxTasks
  if (!Token.isUnresolved(minTasks) && !Token.isUnresolved(maxTasks) && !isRange) {
    throw new BatonError(
      'invalid',
      `minTasks ${minTasks} to maxTasks ${maxTasks} is no range; begin with 1 or more`,
    )
  }
  if (queues.length > SCALED_QUEUES_MAX) {
    throw new BatonError(
      'invalid',
      `a service scales by at most ${SCALED_QUEUES_MAX} types, not ${queues.length}; use several services`,
    )
  }
}

type MetricQuery = CfnScalingPolicy.TargetTrackingMetricDataQueryProperty

/** A queue that was idle for hours reports nothing, and so does a service whose first container is not up yet. */
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
