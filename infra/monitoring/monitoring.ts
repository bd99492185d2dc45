/**
 * What operators see. This file lists the metrics that functions write, and which are kept for single types. `alarms.ts`
 * makes each alarm at the construct that it watches; `dashboard.ts` puts the graphs of a whole system on one page.
 */

import { Duration } from 'aws-cdk-lib'
import { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { MetricName } from '../../shared/ports/machine.ts'
import { ALARM_PERIOD_MINUTES } from '../bounds.ts'

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

/** What the functions of `system` measure about tasks of `type`: `Lateness` and `RunTime` in milliseconds, the rest counts. */
export function taskMetric(system: string, name: MetricName, type: string): Metric {
  return new Metric({
    namespace: 'Baton',
    metricName: name,
    dimensionsMap: { service: system, type },
    statistic: STATISTICS[name],
    period: Duration.minutes(ALARM_PERIOD_MINUTES),
  })
}
