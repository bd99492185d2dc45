import { setTimeout as sleep } from 'node:timers/promises'
import { totalOf } from '../../../local/gateway/meter.ts'
import type { LocalSystem } from '../local-system/local-system.ts'

/**
 * Writes everything that `work` caused, the planner's and the waker's included, in units of table and indexes. A service
 * that stands by shows a sign of life every ten seconds, which no task causes.
 */
export async function unitsOf(system: LocalSystem, work: () => Promise<unknown>) {
  const before = system.cloud.meter.snapshot()
  await work()
  await untilQuiet(system)
  const standingBy = system.cloud.services.map(({ logicalId }) => logicalId)
  const caused = system.cloud.meter.since(before).filter(({ caller }) => !standingBy.includes(caller))
  return totalOf(caused.filter(({ service }) => service === 'dynamodb'))
}

/** Nobody writes any more. */
export async function untilQuiet(system: LocalSystem): Promise<void> {
  for (;;) {
    const before = system.cloud.meter.snapshot()
    await sleep(300)
    if (totalOf(system.cloud.meter.since(before)).writeUnits === 0) return
  }
}
