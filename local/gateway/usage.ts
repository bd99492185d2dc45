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
export type Line = {
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
