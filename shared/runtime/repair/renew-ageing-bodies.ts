import type { Decision } from '../../core/change/change.ts'
import { bodiesExpiringBefore, type Head, type OfKind } from '../../core/task/head.ts'
import { isolateEach } from '../kernel/isolate-faults.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { BODY_ALERT_MS } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'

/**
 * Renews the bodies of open heads that wait untouched for so long that their bodies expire within days. The kernel renews
 * them at any change, so `touch`, a transition that changes nothing, is enough.
 */
export async function renewAgeingBodies<H extends Head>(
  system: System,
  heads: readonly H[],
  most: number,
  touch: (current: OfKind<H>, now: number) => Decision<string, OfKind<H>>,
): Promise<void> {
  const now = system.clock.now()
  const ageing = heads.filter(
    head => head.state === 'open' && bodiesExpiringBefore(head, now + BODY_ALERT_MS).length > 0,
  )
  await isolateEach(system, ageing, most, seen =>
    transact(
      system,
      seen,
      ofSameBirth(seen, current => touch(current, now)),
    ),
  )
}
