import { Lazy } from 'aws-cdk-lib'
import { EVERY_TYPE } from '../shared/core/bounds.ts'
import type { MetricName } from '../shared/ports/machine.ts'

/** Whether the outcomes of tasks are counted for the system as a whole, or also for each type. */
export type MetricsScope = 'system' | 'perType'

/** The metrics that `metrics: 'perType'` keeps for each type. */
const OUTCOMES: readonly MetricName[] = ['Published', 'Succeeded', 'Failed', 'Retried']

/** The longest `BATON_TYPE_METRICS`. Lambda allows 4 KB for all variables of a function. */
const TYPE_METRICS_CHARACTERS_MAX = 1_500

/**
 * Which metrics are kept for which types. CloudWatch charges $0.30 a month for each metric of each type. So functions keep a
 * metric for all types together, and for a single type only if the app asked for it.
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
   * The value of `BATON_TYPE_METRICS`. It is resolved at synthesis, so it includes metrics that the app asks for later. When the
   * names of the types are too long, the same metrics are kept for every type.
   *
   * `whenNone` is the value when the app asks for no metric of a type. @default none: the template omits the variable
   */
  text(whenNone?: string): string {
    return Lazy.string({
      produce: () => {
        if (this.asked.size === 0) return whenNone
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
