import type { LimitStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

type Line = Record<'starts' | 'waits', Array<() => void>>

/** Those who wait, by process. */
const lines = new WeakMap<LimitStore, Line>()

/**
 * Lets those who come at one moment go on one by one, so that timers fire in between: fifty claims that begin at once, or
 * eight, keep a process busy for longer than a turn under a limit lasts. Who `starts` overtakes who only notes that it
 * waits.
 */
export function oneAtATime(system: Pick<System, 'limits' | 'clock'>, place: keyof Line): Promise<void> {
  const known = lines.get(system.limits)
  const line = known ?? { starts: [], waits: [] }
  const goesOn = new Promise<void>(resolve => line[place].push(resolve))
  if (!known) {
    lines.set(system.limits, line)
    void letOn(system, line)
  }
  return goesOn
}

async function letOn({ limits, clock }: Pick<System, 'limits' | 'clock'>, line: Line): Promise<void> {
  for (let next = nextIn(line); next; next = nextIn(line)) {
    next()
    await clock.sleep(0)
  }
  lines.delete(limits)
}

function nextIn({ starts, waits }: Line): (() => void) | undefined {
  return starts.shift() ?? waits.shift()
}
