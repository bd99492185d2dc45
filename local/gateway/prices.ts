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

type Cost = {
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

/** What has a price. */
export type Usage = {
  readonly readUnits: number
  readonly writeUnits: number
  /** Requests of SQS, each for up to 64 KB. */
  readonly sqsRequests: number
  readonly invocations: number
  /** Memory of functions times the duration of their invocations. */
  readonly gbMs: number
  /** Invocations of targets by EventBridge Scheduler. */
  readonly firedSchedules: number
  /** Requests of the HTTP API, each for up to 512 KB. */
  readonly apiRequests: number
  readonly logBytes: number
}

const NONE: Usage = {
  readUnits: 0,
  writeUnits: 0,
  sqsRequests: 0,
  invocations: 0,
  gbMs: 0,
  firedSchedules: 0,
  apiRequests: 0,
  logBytes: 0,
}

/** A line of the meter, as far as it has a price. */
type Line = {
  readonly service: string
  readonly operation: string
  readonly requests?: number
  readonly readUnits?: number
  readonly writeUnits?: number
  readonly gbMs?: number
  readonly logBytes?: number
}

/** The part of a line of the meter that has a price. */
export function usageIn({ service, operation, requests = 0, ...line }: Line): Partial<Usage> {
  switch (service) {
    case 'dynamodb':
      return { readUnits: line.readUnits ?? 0, writeUnits: line.writeUnits ?? 0 }
    case 'sqs':
      return { sqsRequests: requests }
    case 'lambda':
      return { invocations: requests, gbMs: line.gbMs ?? 0 }
    case 'scheduler':
      return operation === 'InvokeTarget' ? { firedSchedules: requests } : {}
    case 'execute-api':
      return { apiRequests: requests }
    case 'logs':
      return { logBytes: line.logBytes ?? 0 }
    default:
      return {}
  }
}

export function addedUp(one: Usage = NONE, other: Partial<Usage> = {}): Usage {
  return {
    readUnits: one.readUnits + (other.readUnits ?? 0),
    writeUnits: one.writeUnits + (other.writeUnits ?? 0),
    sqsRequests: one.sqsRequests + (other.sqsRequests ?? 0),
    invocations: one.invocations + (other.invocations ?? 0),
    gbMs: one.gbMs + (other.gbMs ?? 0),
    firedSchedules: one.firedSchedules + (other.firedSchedules ?? 0),
    apiRequests: one.apiRequests + (other.apiRequests ?? 0),
    logBytes: one.logBytes + (other.logBytes ?? 0),
  }
}
