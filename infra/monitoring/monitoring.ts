/**
 * What operators see. This file lists the metrics that functions write, and which are kept for single types. `alarms.ts`
 * makes each alarm at the construct that it watches; `dashboard.ts` puts the graphs of a whole system on one page.
 */

import { Duration, Lazy } from 'aws-cdk-lib'
import { Metric } from 'aws-cdk-lib/aws-cloudwatch'
import { EVERY_TYPE } from '../../shared/core/bounds.ts'
import type { MetricName } from '../../shared/ports/machine.ts'
import { ALARM_PERIOD_MINUTES } from '../bounds.ts'
import type { MetricsScope } from '../settings.ts'

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

/** Of these `metrics: 'perType'` keeps one for each type. */
const OUTCOMES: readonly MetricName[] = ['Published', 'Succeeded', 'Failed', 'Retried']

/** Of `BATON_TYPE_METRICS`, in an environment that Lambda ends at 4 KB. */
const TYPE_METRICS_CHARACTERS_MAX = 1_500

/**
 * Which metrics are kept for which types. CloudWatch takes $0.30 a month for each metric of each type, so functions measure all
 * types together, and single types only where the app asked for that metric.
 */
export class TypeMetrics {
  private readonly asked: Set<string>

  constructor(scope: MetricsScope) {
    this.asked = new Set(scope === 'perType' ? OUTCOMES.map(name => `${name}:${EVERY_TYPE}`) : [])
  }

  ask(name: MetricName, type: string): void {
    if (type !== EVERY_TYPE) this.asked.add(`${name}:${type}`)
  }

  /**
   * For the environment; what is asked for later is in it, too. Where the types' names would not fit, the same metrics are kept
   * for every type.
   */
  text(): string {
    return Lazy.string({
      produce: () => {
        if (this.asked.size === 0) return undefined
        const text = [...this.asked].sort().join(',')
        return text.length <= TYPE_METRICS_CHARACTERS_MAX ? text : this.namesForEveryType()
      },
    })
  }

  private namesForEveryType(): string {
    const names = [...this.asked].map(one => one.slice(0, one.indexOf(':')))
    return [...new Set(names)]
      .sort()
      .map(name => `${name}:${EVERY_TYPE}`)
      .join(',')
  }
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
