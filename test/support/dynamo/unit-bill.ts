import { setTimeout as sleep } from 'node:timers/promises'
import { type MeterSnapshot, totalOf } from '../../../local/gateway/meter.ts'
import type { LocalSystem } from '../local-system/local-system.ts'

/**
 * Returns the units of the table and its indexes that `work` caused, with those of the planner and the waker. Calls of services are
 * left out: a service records a sign of life every ten seconds, which no task causes.
 */
export async function unitsOf(
  system: LocalSystem,
  work: () => Promise<unknown>,
  isCounted: (line: MeterSnapshot[number]) => boolean = () => true,
) {
  const before = system.cloud.meter.snapshot()
  await work()
  await untilQuiet(system)
  const services = system.cloud.services.map(({ logicalId }) => logicalId)
  const caused = system.cloud.meter.since(before).filter(({ caller }) => !services.includes(caller))
  return totalOf(caused.filter(line => line.service === 'dynamodb' && isCounted(line)))
}

/**
 * Waits until no process writes any more and the planner has handled all changes. The planner's mapping reads the stream again only
 * after the planner has handled what the mapping read before.
 */
export async function untilQuiet({ cloud }: LocalSystem): Promise<void> {
  const reader = cloud.mapping('Planner').logicalId
  for (let before = cloud.meter.snapshot(); ; ) {
    await sleep(100)
    const since = cloud.meter.since(before)
    const reads = since.filter(({ caller, operation }) => caller === reader && operation === 'GetRecords')
    if (totalOf(since).writeUnits > 0) before = cloud.meter.snapshot()
    else if (totalOf(reads).calls >= 2) return
  }
}
