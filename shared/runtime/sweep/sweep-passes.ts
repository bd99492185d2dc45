import type { Json } from '../../core/json.ts'
import type { Task } from '../../core/task/task.ts'
import type { IndexEntry, IndexRange } from '../../ports/stores.ts'
import type { PlanningSystem } from '../kernel/system.ts'

/**
 * The sweeper reads each index partition from its begin to its end, a budget of tasks a round: that is a pass. A pass over many
 * tasks takes many rounds, and its cursor stands in a record meanwhile. The record also tells when this pass and the last
 * ones began: what fell due since the last one began may not have been read yet, however old it is by now.
 */

const PAGE = 100
const CURSOR_LIFE_MS = 7 * 86_400_000
/** A pass that no record tells of took one round, and rounds come every minute. */
const SHORT_PASS_MS = 60_000
/** This pass and two before it: a message of the sweeper may get lost as well. */
const PASSES_KNOWN = 3

/** A task that a round looks at, and since when passes may have missed it. */
export type SweepCandidate = {
  readonly task: Task
  /** What fell due at this time or later may not have been read by an earlier pass. */
  readonly unreadSince: number
  /** What fell due at this time or later was read by one earlier pass at most. */
  readonly readOnceSince: number
}

type Pass = {
  /** The last entry that was read; a new pass begins where it is missing. */
  readonly position?: IndexEntry | undefined
  /** When this pass and those before it began, the latest first. */
  readonly begins: readonly number[]
}

/** Reads a range from where the last round stopped, at most `budget` tasks, and remembers where it stopped. */
export async function readNextInPass(
  system: PlanningSystem,
  cursor: string,
  range: IndexRange,
  budget: number,
): Promise<SweepCandidate[]> {
  const name = `sweep#${cursor}`
  const now = system.clock.now()
  const stored = await system.records.get(name)
  const pass = passFrom(stored, now)
  const tasks: Task[] = []
  let { position } = pass
  for (let left = budget; left > 0; left -= PAGE) {
    const limit = Math.min(PAGE, left)
    const page = await system.tasks.page({ ...range, limit, ...(position && { after: position }) })
    tasks.push(...(await system.tasks.heads(page.entries.map(({ id }) => id))))
    position = page.more ? page.entries.at(-1) : undefined
    if (!position) break
  }
  const next = recordOf({ ...pass, position }, pass.position !== undefined)
  if (next !== null || (stored ?? null) !== null) {
    await system.records.put(name, next, now + CURSOR_LIFE_MS)
  }
  const unreadSince = beganBefore(pass, 1)
  const readOnceSince = beganBefore(pass, 2)
  return tasks.map(task => ({ task, unreadSince, readOnceSince }))
}

/** The pass that goes on, or the one that begins now. Earlier versions stored the position alone. */
function passFrom(stored: Json | undefined, now: number): Pass {
  const { id, sort, begins = [] } = (stored ?? {}) as Partial<IndexEntry & Pass>
  if (id === undefined || sort === undefined) return { begins: [now, ...begins].slice(0, PASSES_KNOWN) }
  return { position: { id, sort }, begins: begins.length > 0 ? begins : [now] }
}

/** When the pass began that came so many before this one. */
function beganBefore({ begins }: Pass, count: number): number {
  const known = Math.min(count, begins.length - 1)
  return (begins[known] ?? 0) - (count - known) * SHORT_PASS_MS
}

/** A pass that ended in the round in which it began leaves no record. */
function recordOf({ position, begins }: Pass, hasGoneOn: boolean): Json {
  if (position) return { id: position.id, sort: position.sort, begins: [...begins] }
  return hasGoneOn ? { begins: [...begins] } : null
}
