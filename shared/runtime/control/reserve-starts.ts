import type { StoredStarts } from '../../core/control/starts.ts'
import { reserve, type Turn } from '../../core/control/starts.ts'
import { BatonError } from '../../core/errors.ts'
import type { RateLimit } from '../../core/task-type.ts'
import type { LimitStore } from '../../ports/stores.ts'
import type { System } from '../system.ts'
import type { Limited } from './limits-of.ts'

/** Each lost round means that another process reserved; they are few, and each reserves for all who wait in it. */
const MAX_ROUNDS = 100
const MAX_PAUSE_MS = 40
/** A log is of no use once its starts bind nobody: two periods after the last. */
const LOG_LIFE_PERIODS = 2
const MIN_LOG_LIFE_MS = 60_000

type Reservation = {
  readonly onlyNow: boolean
  resolve(turn: Turn | undefined): void
  reject(error: unknown): void
}

/** What waits in this process for a limit's log, and whether somebody is writing it. */
type Line = { waiting: Reservation[]; isServed: boolean }

const lines = new WeakMap<LimitStore, Map<string, Line>>()

/**
 * Reserves one start under a rate limit, as early as it allows; with `onlyNow` only one that can begin at once, else
 * undefined. Those who ask in one process while its log is written share the next write.
 *
 * @throws BatonError `contended` when other processes were quicker a hundred times in a row.
 */
export function reserveStart(
  system: System,
  limited: Limited<RateLimit>,
  onlyNow: boolean,
): Promise<Turn | undefined> {
  const ofStore = lines.get(system.limits) ?? new Map<string, Line>()
  lines.set(system.limits, ofStore)
  const name = `${limited.name} ${limited.limit.limit}/${limited.limit.perMs}`
  const line = ofStore.get(name) ?? { waiting: [], isServed: false }
  ofStore.set(name, line)
  const reserved = new Promise<Turn | undefined>((resolve, reject) => {
    line.waiting.push({ onlyNow, resolve, reject })
  })
  if (!line.isServed) {
    line.isServed = true
    void serveLine(system, limited, line).finally(() => {
      line.isServed = false
      ofStore.delete(name)
    })
  }
  return reserved
}

async function serveLine(system: System, limited: Limited<RateLimit>, line: Line): Promise<void> {
  while (line.waiting.length > 0) {
    let served: Reservation[] = []
    try {
      const turns = await reserveFor(system, limited, () => {
        served = [...served, ...line.waiting]
        line.waiting = []
        return served
      })
      for (const [nth, { resolve }] of served.entries()) resolve(turns[nth])
    } catch (error) {
      for (const { reject } of [...served, ...line.waiting]) reject(error)
      line.waiting = []
    }
  }
}

/** Turns in the order of those who ask by the time the log has been read; who wants to begin at once goes first. */
async function reserveFor(
  system: System,
  { name, limit }: Limited<RateLimit>,
  takeAll: () => readonly Reservation[],
): Promise<Array<Turn | undefined>> {
  let stored: StoredStarts = await system.limits.starts(name)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const served = takeAll()
    const now = system.clock.now()
    const impatient = served.filter(({ onlyNow }) => onlyNow).length
    const first = reserve(stored.log, limit, now, { count: impatient, onlyNow: true })
    const rest = reserve(first.log, limit, now, { count: served.length - impatient })
    if (first.turns.length + rest.turns.length === 0) return served.map(() => undefined)
    const life = Math.max(MIN_LOG_LIFE_MS, LOG_LIFE_PERIODS * limit.perMs)
    const last = rest.turns.at(-1)?.at ?? now
    const present = await system.limits.putStarts(name, rest.log, stored.version, last + life)
    if (!present) return dealt(served, [...first.turns], [...rest.turns])
    stored = present
    await system.clock.sleep(MAX_PAUSE_MS * system.chance.fraction())
  }
  throw new BatonError('contended', `starts under the limit ${name} were reserved by others all the time`)
}

function dealt(served: readonly Reservation[], now: Turn[], later: Turn[]): Array<Turn | undefined> {
  return served.map(({ onlyNow }) => (onlyNow ? now : later).shift())
}
