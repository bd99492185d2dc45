import type { LimitStore } from '../../ports/stores.ts'
import type { System } from '../system.ts'

/** What so many begin in one turn of the event loop takes a process less time than a turn under a limit lasts. */
const AT_ONCE = 2

type Line = Record<'starts' | 'waits', Array<() => void>>

/** Those who wait, by process. */
const lines = new WeakMap<LimitStore, Line>()

/**
 * Lets those who come at one moment go on few at a time, so that timers fire in between: fifty claims that begin at once
 * keep a process busy for longer than a turn lasts. Who `starts` overtakes
 * who only notes that it waits.
 */
export function fewAtOnce(system: Pick<System, 'limits' | 'clock'>, place: keyof Line): Promise<void> {
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
  while (line.starts.length + line.waits.length > 0) {
    const starts = line.starts.splice(0, AT_ONCE)
    const waits = line.waits.splice(0, AT_ONCE - starts.length)
    for (const goOn of [...starts, ...waits]) goOn()
    await clock.sleep(0)
  }
  lines.delete(limits)
}
