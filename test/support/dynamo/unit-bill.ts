import { setTimeout as sleep } from 'node:timers/promises'
import { type MeterSnapshot, totalOf } from '../../../local/gateway/meter.ts'
import type { LocalSystem } from '../local-system/local-system.ts'

/**
 * Writes everything that `work` caused, the planner's and the waker's included, in units of table and indexes. A service
 * that stands by shows a sign of life every ten seconds, which no task causes.
 */
export async function unitsOf(
  system: LocalSystem,
  work: () => Promise<unknown>,
  isCounted: (line: MeterSnapshot[number]) => boolean = () => true,
) {
  const before = system.cloud.meter.snapshot()
  await work()
  await untilQuiet(system)
  const standingBy = system.cloud.services.map(({ logicalId }) => logicalId)
  const caused = system.cloud.meter.since(before).filter(({ caller }) => !standingBy.includes(caller))
  return totalOf(caused.filter(line => line.service === 'dynamodb' && isCounted(line)))
}

/**
 * No process writes any more, and the planner has handled all that was written: it reads the stream again once it has handled what
 * it read before.
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
