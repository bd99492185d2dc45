import { type MeterSnapshot, totalOf } from '../../local/gateway/meter.ts'
import type { Verdict } from './verify.ts'

/** Prints the outcomes of the workload by group, its latencies, and its cost in requests and units. */
export function summarise(verdicts: readonly Verdict[], tasks: number, used: MeterSnapshot): void {
  console.log('\nOutcomes')
  const groups = Map.groupBy(verdicts, ({ group }) => group)
  for (const [group, members] of groups) console.log(`  ${group.padEnd(24)}${outcomes(members)}`)
  console.log('\nLatency (p50 / p95 / p99 / max)')
  const immediate = verdicts.filter(({ dueAt, createdAt }) => dueAt === createdAt)
  console.log(
    `  ${'publish to start'.padEnd(24)}${percentiles(waits(immediate))}   (all tasks are published at once)`,
  )
  const delayed = verdicts.filter(({ dueAt, createdAt }) => dueAt > createdAt)
  console.log(`  ${'lateness of delayed'.padEnd(24)}${percentiles(waits(delayed))}`)
  console.log('\nAWS use per task (a saga counts as one)')
  for (const [label, amount] of costs(used, tasks)) console.log(`  ${label.padEnd(24)}${amount}`)
  console.log()
}

function outcomes(members: readonly Verdict[]): string {
  const counts = Map.groupBy(members, ({ status }) => status)
  return [...counts].map(([status, ofStatus]) => `${ofStatus.length} ${status}`).join(', ')
}

function waits(verdicts: readonly Verdict[]): number[] {
  return verdicts.flatMap(({ startedAt, dueAt }) => (startedAt === undefined ? [] : [startedAt - dueAt]))
}

/** The requests and units of all callers, per task. */
function costs(used: MeterSnapshot, tasks: number): Array<[string, string]> {
  const per = (amount: number) => (amount / tasks).toFixed(2)
  const of = (service: string) => totalOf(used.filter(line => line.service === service))
  const dynamo = of('dynamodb')
  return [
    [
      'DynamoDB writes',
      `${per(dynamo.writeUnits)} units (${per(dynamo.failedWriteUnits)} of them for conditions that failed)`,
    ],
    ['DynamoDB reads', `${per(dynamo.readUnits)} units (watching and checking the workload included)`],
    ['SQS', `${per(of('sqs').requests)} requests`],
    ['Lambda', `${per(of('lambda').requests)} invocations`],
    ['Scheduler', `${per(of('scheduler').requests)} requests`],
  ]
}

/** The p50, p95, p99 and largest of the values, as `1 / 2 / 3 / 4 ms`. */
function percentiles(values: readonly number[]): string {
  if (values.length === 0) return 'none'
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)]
  return `${[at(0.5), at(0.95), at(0.99), sorted.at(-1)].map(value => Math.round(value ?? 0)).join(' / ')} ms`
}
