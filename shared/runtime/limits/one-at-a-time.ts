import type { LimitStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

type Line = Record<'starts' | 'waits', Array<() => void>>

/** The callers that wait, by process. */
const lines = new WeakMap<LimitStore, Line>()

/**
 * Resolves for one caller at a time, so that timers fire in between. Without this, eight or fifty claims that begin at
 * one moment keep a process busy for longer than a slot lasts. A start goes ahead of a task that only records that it waits.
 */
export function oneAtATime(system: Pick<System, 'limits' | 'clock'>, kind: keyof Line): Promise<void> {
  const known = lines.get(system.limits)
  const line = known ?? { starts: [], waits: [] }
  const admitted = new Promise<void>(resolve => line[kind].push(resolve))
  if (!known) {
    lines.set(system.limits, line)
    void admitAll(system, line)
  }
  return admitted
}

async function admitAll({ limits, clock }: Pick<System, 'limits' | 'clock'>, line: Line): Promise<void> {
  for (let next = nextIn(line); next; next = nextIn(line)) {
    next()
    await clock.sleep(0)
  }
  lines.delete(limits)
}

function nextIn({ starts, waits }: Line): (() => void) | undefined {
  return starts.shift() ?? waits.shift()
}
