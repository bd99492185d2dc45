import { createOwners } from './owners.ts'

type UsageKey = {
  readonly caller: string
  readonly service: string
  readonly operation: string
  /** Table, `table/index`, queue or API route; empty if the service has none. */
  readonly resource: string
}

const none = {
  calls: 0,
  /** Billed requests: 64 KB chunks of SQS, 512 KB chunks of the API, events, invocations of Lambda and Scheduler. */
  requests: 0,
  readUnits: 0,
  writeUnits: 0,
  /** Write units of conditions that failed; `writeUnits` includes them. */
  failedWriteUnits: 0,
  /** SQS receives without a message; `requests` includes them. */
  emptyReceives: 0,
  gbMs: 0,
  logBytes: 0,
}

type Amounts = Readonly<typeof none>
/** The usage by one caller of one operation on one resource. */
type MeterLine = UsageKey & Amounts
export type MeterSnapshot = readonly MeterLine[]

export type Meter = ReturnType<typeof createMeter>

const amountNames = Object.keys(none) as readonly (keyof Amounts)[]

export function createMeter() {
  const lines = new Map<string, UsageKey & typeof none>()
  const ledger = createLedger()

  const snapshot = () => [...lines.values()].map(line => ({ ...line }))

  const charge = (usageKey: UsageKey, amounts: Partial<Amounts>, owners: readonly string[]) =>
    ledger.charge(owners, usageIn({ ...usageKey, ...amounts }))

  return {
    ledger,
    owners: createOwners(ledger.hasType),
    /** Charges a usage that was counted before. */
    charge,
    /** Counts a usage, and charges it to its owners (`owners.ts`). */
    add: (usageKey: UsageKey, amounts: Partial<Amounts>, owners: readonly string[] = []) => {
      const key = keyOf(usageKey)
      const line = lines.get(key) ?? { ...usageKey, ...none }
      lines.set(key, line)
      for (const name of amountNames) line[name] += amounts[name] ?? 0
      charge(usageKey, amounts, owners)
    },
    snapshot,
    /** The usage since `before` was taken. */
    since: (before: MeterSnapshot) => {
      const earlier = new Map(before.map(line => [keyOf(line), line]))
      return snapshot()
        .map(line => difference(line, earlier.get(keyOf(line))))
        .filter(line => amountNames.some(name => line[name] !== 0))
    },
  }
}

/** The sum of lines, e.g. of all lines of one caller. */
export function totalOf(lines: MeterSnapshot): Amounts {
  const total = { ...none }
  for (const line of lines) for (const name of amountNames) total[name] += line[name]
  return total
}

const keyOf = ({ caller, service, operation, resource }: UsageKey) =>
  `${caller} ${service} ${operation} ${resource}`

function difference(line: MeterLine, before: MeterLine | undefined): MeterLine {
  if (!before) return line
  const changed = amountNames.map(name => [name, line[name] - before[name]] as const)
  return { ...line, ...Object.fromEntries(changed) }
}

/** Keeps the 5,000 tasks that used something last: some 2 MB. */
const TASKS_KEPT = 5_000
/** Keeps the 1,000 types that used something last. A message of a user may name any type. */
const TYPES_KEPT = 1_000

/** Sums of what tasks and types have used. A task has its id, `type:key`, and a type its name. */
export function createLedger(tasksKept = TASKS_KEPT) {
  const tasks = new Map<string, Usage>()
  const types = new Map<string, Usage>()
  return {
    /** Charges a usage to its owners in equal shares. Without owners nothing is noted: the usage is the system's own. */
    charge: (owners: readonly string[], usage: Partial<Usage>) => {
      const share = shareOf(usage, owners.length)
      for (const owner of owners) {
        const type = typeOf(owner)
        addTo(types, type, share, TYPES_KEPT)
        if (type !== owner) addTo(tasks, owner, share, tasksKept)
      }
    },
    /** The usage of one task; undefined when it has used nothing, or when `TASKS_KEPT` others have used something since. */
    ofTask: (id: string) => tasks.get(id),
    /** The usage of each type: by its tasks, and by what was done for the type as a whole. */
    types: () => types,
    hasType: (name: string) => types.has(name),
  }
}

/** The type of a task, or the type itself. */
function typeOf(owner: string): string {
  return owner.split(':', 1)[0] ?? owner
}

/** Adds to the sum of a name, which becomes the last one to be forgotten. */
function addTo(sums: Map<string, Usage>, name: string, share: Partial<Usage>, kept: number): void {
  const sum = sumOfUsage(sums.get(name), share)
  sums.delete(name)
  sums.set(name, sum)
  const [oldest] = sums.keys()
  if (sums.size > kept && oldest !== undefined) sums.delete(oldest)
}

function shareOf(usage: Partial<Usage>, parts: number): Partial<Usage> {
  if (parts === 1) return usage
  return Object.fromEntries(Object.entries(usage).map(([name, amount]) => [name, amount / parts]))
}

/**
 * List prices in USD, us-east-1, November 2026, without free tiers, each with its page. Events ($1 per million) are left
 * out. A local system publishes the events of all types, a deployed one only the events of types that ask for them.
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

/** What the metered usage would cost on AWS, in USD. */
export function costOf(lines: readonly Line[]) {
  return costOfUsage(lines.map(usageIn).reduce<Usage>(sumOfUsage, sumOfUsage()))
}

/** What a usage would cost on AWS, in USD. */
export function costOfUsage(usage: Usage) {
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
const NONE = {
  readUnits: 0,
  writeUnits: 0,
  /** Requests of SQS, each for up to 64 KB. */
  sqsRequests: 0,
  invocations: 0,
  /** Memory of functions times the duration of their invocations. */
  gbMs: 0,
  /** Invocations of targets by EventBridge Scheduler. */
  firedSchedules: 0,
  /** Requests of the HTTP API, each for up to 512 KB. */
  apiRequests: 0,
  logBytes: 0,
}

type Usage = Readonly<typeof NONE>

/** A line of the meter, as far as it has a price. */
type Line = Pick<UsageKey, 'service' | 'operation'> & Partial<Amounts>

/** The part of a line of the meter that has a price. */
function usageIn({ service, operation, requests = 0, ...line }: Line): Partial<Usage> {
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

const USAGE_NAMES = Object.keys(NONE) as ReadonlyArray<keyof Usage>

function sumOfUsage(one: Usage = NONE, other: Partial<Usage> = {}): Usage {
  return { ...one, ...Object.fromEntries(USAGE_NAMES.map(name => [name, one[name] + (other[name] ?? 0)])) }
}
