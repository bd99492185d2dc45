/**
 * The metrics and alarms that operators see. This file lists the metrics that functions write. `alarms.ts` makes each alarm
 * beside the construct that it watches. `infra/settings.ts` says which metrics are kept for single types, and
 * `infra/dashboard.ts` draws a whole system on one page.
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

/** A metric of the tasks of `type`. `Lateness` and `RunTime` are in milliseconds; the other metrics are counts. */
export function taskMetric(system: string, name: MetricName, type: string): Metric {
  return new Metric({
    namespace: 'Baton',
    metricName: name,
    dimensionsMap: { service: system, type },
    statistic: STATISTICS[name],
    period: Duration.minutes(ALARM_PERIOD_MINUTES),
  })
}
