import { addedUp, type Line, type Usage, usageIn } from './usage.ts'

/**
 * List prices in USD, us-east-1, November 2026, without free tiers, each with its page. Events ($1 per million) are left
 * out. A local system publishes the events of all types, a deployed one only those of types that ask for them.
 * Failed conditional writes cost write units like successful ones.
 */
export const prices = {
  /** https://aws.amazon.com/dynamodb/pricing/on-demand/ */
  writeUnit: 0.625 / 1e6,
  readUnit: 0.125 / 1e6,
  /** Standard queues, per request of up to 64 KB: https://aws.amazon.com/sqs/pricing/ */
  sqsRequest: 0.4 / 1e6,
  /** arm64: https://aws.amazon.com/lambda/pricing/ */
  lambdaInvocation: 0.2 / 1e6,
  lambdaGbSecond: 0.0000133334,
  /** Per invocation of a target; managing schedules is free: https://aws.amazon.com/eventbridge/pricing/ */
  schedulerInvocation: 1 / 1e6,
  /** HTTP API, per request of up to 512 KB: https://aws.amazon.com/api-gateway/pricing/ */
  apiRequest: 1 / 1e6,
  /** Logs ingested: https://aws.amazon.com/cloudwatch/pricing/ */
  logGigabyte: 0.5,
  /** Per month and metric that an alarm of standard resolution watches: https://aws.amazon.com/cloudwatch/pricing/ */
  alarmMetric: 0.1,
  /** Per month and rule of Contributor Insights: https://aws.amazon.com/cloudwatch/pricing/ */
  contributorRule: 0.5,
} as const

export type Cost = {
  readonly dynamodb: number
  readonly sqs: number
  readonly lambda: number
  readonly scheduler: number
  readonly api: number
  readonly logs: number
  readonly total: number
}

/** What the metered usage would cost on AWS, in USD. */
export function costOf(lines: readonly Line[]): Cost {
  return costOfUsage(lines.map(usageIn).reduce<Usage>(addedUp, addedUp()))
}

/** What a usage would cost on AWS, in USD. */
export function costOfUsage(usage: Usage): Cost {
  const parts = {
    dynamodb: usage.readUnits * prices.readUnit + usage.writeUnits * prices.writeUnit,
    sqs: usage.sqsRequests * prices.sqsRequest,
    lambda: usage.invocations * prices.lambdaInvocation + (usage.gbMs / 1000) * prices.lambdaGbSecond,
    scheduler: usage.firedSchedules * prices.schedulerInvocation,
    api: usage.apiRequests * prices.apiRequest,
    logs: (usage.logBytes / 1e9) * prices.logGigabyte,
  }
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) }
}
